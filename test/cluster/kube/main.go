// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	_ "time/tzdata" // CronJobs name time zones; the machine may have none installed

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info on /metrics
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// daemon is one of the programs in this one.
type daemon struct {
	name string
	// command makes the cobra command. It runs for the chosen daemon only.
	command func() *cobra.Command
}

func daemons() []daemon {
	return []daemon{
		{"etcd", newEtcdCommand},
		{"kube-apiserver", apiserver.NewAPIServerCommand},
		{"kube-controller-manager", controllers.NewControllerManagerCommand},
		{"kube-scheduler", func() *cobra.Command { return scheduler.NewSchedulerCommand() }},
		{"kubelet", func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }},
	}
}

func main() {
	chosen, args, err := choose(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	// Some commands parse os.Args themselves (the kubelet disables cobra's parsing).
	os.Args = append([]string{chosen.name}, args...)
	os.Exit(cli.Run(chosen.command()))
}

// choose picks the daemon by the program's own name, if somebody linked it to
// one of the names, and by the first argument otherwise. It returns what is left
// of the arguments.
func choose(argv []string) (daemon, []string, error) {
	var names []string
	for _, d := range daemons() {
		if len(argv) > 0 && filepath.Base(argv[0]) == d.name {
			return d, argv[1:], nil
		}
		if len(argv) > 1 && argv[1] == d.name {
			return d, argv[2:], nil
		}
		names = append(names, d.name)
	}
	return daemon{}, nil, fmt.Errorf("kube: say which daemon to run: %s", strings.Join(names, ", "))
}
