// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command simcuda is a CUDA program for the simulated machine: it opens a context
// on every device that its container was given, takes memory, and says in JSON
// what became of it. Tests run it where a tenant's program would run.
//
//	simcuda list                     the devices that CUDA sees
//	simcuda run --memory 1Gi --hold  one line of JSON, then a line for each event
//
// It goes by what a CUDA program goes by: the device nodes in /dev, the compute
// mode, the limits of its control group, and CUDA_VISIBLE_DEVICES,
// CUDA_MPS_PIPE_DIRECTORY (/tmp/nvidia-mps), CUDA_MPS_ACTIVE_THREAD_PERCENTAGE and
// CUDA_MPS_PINNED_DEVICE_MEM_LIMIT. Where no MPS daemon answers it runs without
// MPS and does not complain, as CUDA does. It runs as any user.
//
// Where the machine, the nodes and the control group are it takes from
// COTENANT_SIM_STATE (/run/cotenant-sim), COTENANT_SIM_DEV (/dev) and
// COTENANT_SIM_CGROUP (its own).
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	code := 0
	cmd := newCommand(os.Getenv, &code)
	if err := cmd.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "simcuda:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

// newCommand is the command line. code becomes 1 where CUDA answered an error.
func newCommand(env func(string) string, code *int) *cobra.Command {
	root := &cobra.Command{
		Use:           "simcuda",
		Short:         "A CUDA program for the simulated machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(listCommand(env), runCommand(env, code))
	return root
}

func listCommand(env func(string) string) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show the devices that CUDA sees, without opening one", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := openHost(env)
			if err != nil {
				return err
			}
			s, err := h.m.State()
			if err != nil {
				return err
			}
			return (&speaker{w: cmd.OutOrStdout()}).say(event{Event: "list", Devices: h.devices(s)})
		},
	}
}

func runCommand(env func(string) string, code *int) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "run", Short: "Open contexts, take memory, and say what became of it", Args: cobra.NoArgs,
		Long: "Open contexts, take memory, and say what became of it. With --hold it stays, and takes commands on standard input, one a line:\n" +
			"  alloc SIZE [DEVICE]   take more memory\n  free [DEVICE]         give all memory back\n  fault                 make a fatal fault\n  exit                  end",
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := openHost(env)
			if err != nil {
				return err
			}
			ok, err := o.run(h, cmd.InOrStdin(), cmd.OutOrStdout())
			if !ok {
				*code = 1
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.memory, "memory", "0", "memory to take of each device, in Mi or Gi")
	f.StringVar(&o.device, "device", "", "index or UUID of the only device to open; all when left out")
	f.BoolVar(&o.hold, "hold", false, "stay until a signal")
	f.StringVar(&o.faultOn, "fault-on", "", "signal on which to make a fatal fault, such as SIGUSR1")
	f.StringVar(&o.name, "name", "simcuda", "name to show")
	return cmd
}
