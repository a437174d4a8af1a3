// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func faultCommand(o *opener) *cobra.Command {
	cmd := &cobra.Command{Use: "fault", Short: "Arm, list and clear faults"}
	cmd.AddCommand(faultAddCommand(o),
		&cobra.Command{
			Use: "list", Short: "Show the faults with how often they struck, as JSON", Args: cobra.NoArgs,
			RunE: o.on(func(cmd *cobra.Command, m *sim.Machine, _ []string) error {
				faults, err := m.Faults()
				if err != nil {
					return err
				}
				return printJSON(cmd, faults)
			}),
		},
		&cobra.Command{
			Use: "clear [ID]", Short: "Disarm one fault, or all; what hangs goes on", Args: cobra.MaximumNArgs(1),
			RunE: o.on(func(_ *cobra.Command, m *sim.Machine, args []string) error {
				if len(args) == 1 {
					return m.ClearFault(args[0])
				}
				return m.ClearFaults()
			}),
		})
	return cmd
}

func faultAddCommand(o *opener) *cobra.Command {
	var f sim.Fault
	var gpu int
	var xid uint64
	var code, activation string
	cmd := &cobra.Command{
		Use: "add", Short: "Arm a fault", Args: cobra.NoArgs,
		RunE: o.on(func(cmd *cobra.Command, m *sim.Machine, _ []string) error {
			f.Match.GPU, f.Do.XID = given(cmd, "gpu", &gpu), given(cmd, "xid", &xid)
			var err error
			if f.Do.Return, err = parseCode(code); err != nil {
				return err
			}
			if f.Do.Activation, err = parseCode(activation); err != nil {
				return err
			}
			return m.Inject(f)
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.ID, "id", "", "name of the fault; given when left out")
	fl.StringVar(&f.Match.Call, "call", "", "calls it concerns, a glob such as nvmlDeviceGet*")
	fl.IntVar(&gpu, "gpu", 0, "index of the GPU it concerns; any when left out")
	fl.StringVar(&f.Match.Exe, "exe", "", "programs it concerns, a glob over their base name")
	fl.Uint64Var(&f.When.Nth, "nth", 0, "only the Nth of these calls")
	fl.Uint64Var(&f.When.Every, "every", 0, "every Nth of these calls")
	fl.Uint64Var(&f.When.After, "after", 0, "let the first N pass")
	fl.StringVar(&code, "return", "", "answer this code, such as GPU_IS_LOST")
	fl.StringVar(&activation, "activation", "", "answer SUCCESS with this activation status; for nvmlDeviceSetMigMode")
	fl.DurationVar(&f.Do.Delay, "delay", 0, "take this long")
	fl.BoolVar(&f.Do.Hang, "hang", false, "hang until the fault is cleared")
	fl.BoolVar(&f.Do.CrashBefore, "crash-before", false, "kill the caller before the effect")
	fl.BoolVar(&f.Do.CrashAfter, "crash-after", false, "kill the caller after the effect")
	fl.BoolVar(&f.Do.LoseGPU, "lose", false, "the GPU falls off the bus")
	fl.Uint64Var(&xid, "xid", 0, "report this XID error")
	return cmd
}

// parseCode reads a code; nil for none.
func parseCode(text string) (*sim.Code, error) {
	if text == "" {
		return nil, nil
	}
	c, err := sim.ParseCode(text)
	return &c, err
}

func printJSON(cmd *cobra.Command, v any) error {
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}
