// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func migCommand(o *opener) *cobra.Command {
	return &cobra.Command{
		Use: "mig GPU on|off", Short: "Switch the MIG mode of a GPU as if it had been set and the GPU reset", Args: cobra.ExactArgs(2),
		RunE: o.on(func(_ *cobra.Command, m *sim.Machine, args []string) error {
			gpu, err := index(args[0])
			if err != nil {
				return err
			}
			on, err := onOff(args[1])
			if err != nil {
				return err
			}
			return m.SetMIG(gpu, on)
		}),
	}
}

func onOff(text string) (bool, error) {
	if text != "on" && text != "off" {
		return false, fmt.Errorf("MIG mode %q: want on or off", text)
	}
	return text == "on", nil
}

func instanceCommand(o *opener) *cobra.Command {
	cmd := &cobra.Command{Use: "instance", Short: "Make and destroy MIG instances, as somebody with nvidia-smi"}
	cmd.AddCommand(instanceCreateCommand(o), oneGPU(o, "destroy", "Destroy all instances of a GPU; fails while a process is on one", (*sim.Machine).DestroyInstances))
	return cmd
}

func instanceCreateCommand(o *opener) *cobra.Command {
	var bare bool
	cmd := &cobra.Command{
		Use: "create GPU PROFILE START", Short: "Make a GPU instance and a compute instance that takes all of it",
		Long: "Make a GPU instance and a compute instance that takes all of it. PROFILE is a name (1g.10gb) or an id (19), START a memory slice.",
		Args: cobra.ExactArgs(3),
		RunE: o.on(func(_ *cobra.Command, m *sim.Machine, args []string) error {
			gpu, err := index(args[0])
			if err != nil {
				return err
			}
			profile, err := profileID(m, gpu, args[1])
			if err != nil {
				return err
			}
			start, err := strconv.Atoi(args[2])
			if err != nil {
				return fmt.Errorf("start %q is not a number: %w", args[2], err)
			}
			return m.CreateInstance(gpu, profile, start, !bare)
		}),
	}
	cmd.Flags().BoolVar(&bare, "without-compute-instance", false, "leave the GPU instance empty")
	return cmd
}

// profileID finds a profile of a GPU by name or id.
func profileID(m *sim.Machine, gpu int, text string) (int, error) {
	s, err := m.State()
	if err != nil {
		return 0, err
	}
	if gpu < 0 || gpu >= len(s.GPUs) {
		return 0, fmt.Errorf("there is no GPU %d: simctl show lists the GPUs", gpu)
	}
	p, err := sim.LookupProduct(s.GPUs[gpu].Product)
	if err != nil {
		return 0, err
	}
	var names []string
	for _, pr := range p.Profiles {
		if pr.Name == text || strconv.Itoa(pr.ID) == text {
			return pr.ID, nil
		}
		names = append(names, pr.Name)
	}
	return 0, fmt.Errorf("a %s has no MIG profile %q: it has %q", s.GPUs[gpu].Product, text, names)
}

// showInstances prints the MIG instances there are.
func showInstances(w io.Writer, s sim.State) {
	head := "\nGPU\tGI\tPROFILE\tPLACEMENT\tCI\tUUID\n"
	for i, g := range s.GPUs {
		p, err := sim.LookupProduct(g.Product)
		if err != nil {
			continue
		}
		for _, gi := range g.GIs {
			pr, _ := p.ProfileByID(gi.ProfileID)
			row := fmt.Sprintf("%d\t%d\t%s\t%d:%d", i, gi.ID, pr.Name, gi.Start, gi.Size)
			fmt.Fprint(w, head)
			head = ""
			if len(gi.CIs) == 0 {
				fmt.Fprintf(w, "%s\t-\t-\n", row)
			}
			for _, ci := range gi.CIs {
				fmt.Fprintf(w, "%s\t%d\t%s\n", row, ci.ID, ci.UUID)
			}
		}
	}
}

func orNone(id *int) string {
	if id == nil {
		return "-"
	}
	return strconv.Itoa(*id)
}

func callsCommand(o *opener) *cobra.Command {
	return &cobra.Command{
		Use: "calls [GLOB]", Short: "Count the calls that may have changed the machine, by the name of the C function; all as JSON without GLOB", Args: cobra.MaximumNArgs(1),
		RunE: o.on(func(cmd *cobra.Command, m *sim.Machine, args []string) error {
			log, err := m.CallLog()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return printJSON(cmd, log)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), m.Calls(args[0]))
			return err
		}),
	}
}
