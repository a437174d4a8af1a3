// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// sharingCommands set what sharing changes, as an admin would have set it.
func sharingCommands(o *opener) []*cobra.Command {
	return []*cobra.Command{
		preset(o, "compute-mode GPU DEFAULT|EXCLUSIVE_PROCESS|PROHIBITED", "Set the compute mode of a GPU", sim.ParseComputeMode, (*sim.Machine).PresetComputeMode),
		preset(o, "time-slice GPU 0|1|2|3", "Set the time-slice of a GPU: default, short, medium, long", strconv.Atoi, (*sim.Machine).PresetTimeSlice),
	}
}

// preset is a command that gives a GPU a value. No call is counted for it.
func preset(o *opener, use, short string, parse func(string) (int, error), set func(*sim.Machine, int, int) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(2),
		RunE: o.on(func(_ *cobra.Command, m *sim.Machine, args []string) error {
			gpu, err := index(args[0])
			if err != nil {
				return err
			}
			v, err := parse(args[1])
			if err != nil {
				return err
			}
			return set(m, gpu, v)
		}),
	}
}

// condition words how a GPU is.
func condition(g sim.GPU) string {
	words := []string{"ok"}
	if g.Lost {
		words[0] = "lost"
	}
	switch {
	case g.MIG.Current != g.MIG.Pending:
		words = append(words, "MIG pending")
	case g.MIG.Current:
		words = append(words, "MIG")
	}
	if g.ComputeMode != sim.ComputeDefault {
		words = append(words, sim.ComputeModeName(g.ComputeMode))
	}
	if g.TimeSlice != sim.TimeSliceDefault {
		words = append(words, fmt.Sprintf("time-slice %d", g.TimeSlice))
	}
	return strings.Join(words, ", ")
}

// showSharing prints memory limits and what runs of MPS.
func showSharing(w io.Writer, s sim.State) {
	head := "\nGPU\tSOFT MIB\tHARD MIB\tCONTROL GROUP\n"
	for i, g := range s.GPUs {
		for _, l := range g.Limits {
			hard := "-"
			if l.Hard != sim.NoMemoryLimit {
				hard = strconv.FormatUint(l.Hard>>20, 10)
			}
			fmt.Fprintf(w, "%s%d\t%d\t%s\t%s\n", head, i, l.Soft>>20, hard, l.Cgroup)
			head = ""
		}
	}
	head = "\nMPS\tPID\tOF\tDEVICES\tPIPE DIRECTORY\n"
	for _, d := range s.Daemons {
		fmt.Fprintf(w, "%sdaemon\t%d\t-\t%s\t%s\n", head, d.PID, strings.Join(d.Devices, ","), d.PipeDirectory)
		head = ""
	}
	for _, srv := range s.Servers {
		fmt.Fprintf(w, "%sserver\t%d\t%d\t%s\t-\n", head, srv.PID, srv.Daemon, strings.Join(srv.Devices, ","))
		head = ""
	}
}
