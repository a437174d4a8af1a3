// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
)

// usageError is a command line that can never work.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// options are what the command line and the environment say.
type options struct {
	kubeconfig  string
	namespace   string
	leaderElect bool
	metricsAddr string
	healthAddr  string
	verbosity   int
}

// newCommand returns the command line. env reads the environment.
func newCommand(env func(string) string) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:           "cotenant-controller",
		Short:         "Turn GPUClasses and SharingPolicies into DeviceClasses",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown argument %q; see --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return usageError{err}
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return usageError{fmt.Errorf("%s; see --help", first)}
	})
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", env("KUBECONFIG"), "kubeconfig file; in-cluster configuration if empty (env KUBECONFIG)")
	f.StringVar(&o.namespace, "namespace", env("NAMESPACE"), "namespace of the Lease and of the record of defaults (env NAMESPACE; required)")
	f.BoolVar(&o.leaderElect, "leader-elect", true, "wait until no other controller leads")
	f.StringVar(&o.metricsAddr, "metrics-bind-address", "0", "address to serve metrics on, for example :8080; 0 for none")
	f.StringVar(&o.healthAddr, "health-probe-bind-address", ":8081", "address to serve /healthz and /readyz on; 0 for none")
	f.IntVarP(&o.verbosity, "v", "v", 0, "log level")
	return cmd
}

func (o *options) validate() error {
	if o.namespace == "" {
		return errors.New("--namespace (or NAMESPACE) is required")
	}
	if errs := validation.IsDNS1123Label(o.namespace); len(errs) > 0 {
		return fmt.Errorf("--namespace %q is not the name of a namespace: %s", o.namespace, errs[0])
	}
	return nil
}
