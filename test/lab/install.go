// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"time"
)

// Namespace is where the walkthrough installs.
const Namespace = "nvidia-dra-driver-gpu"

// walkthroughValues are the --set flags of the user's walkthrough, as typed.
var walkthroughValues = []string{
	"controller.affinity=null",
	"gpuResourcesEnabledOverride=true",
	"resources.computeDomains.enabled=false",
	"kubeletPlugin.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key=vke.node.gpu.schedule",
	"kubeletPlugin.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator=In",
	"kubeletPlugin.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[0]=nvidia-dra",
}

// labValues say what is particular here: images that were loaded onto the nodes,
// and a driver that lies where a containerised driver would.
var labValues = []string{
	"image.repository=cotenant.dev/plugin", "image.tag=dev", "image.pullPolicy=Never",
	"mps.image.repository=cotenant.dev/mps", "mps.image.tag=dev", "mps.image.pullPolicy=Never",
	"controller.image.repository=cotenant.dev/controller", "controller.image.tag=dev", "controller.image.pullPolicy=Never",
	"nvidiaDriverRoot=/run/nvidia/driver",
	"kubeletPlugin.containers.gpus.env[0].name=PROC_ROOT", "kubeletPlugin.containers.gpus.env[0].value=/driver-root/proc",
	"kubeletPlugin.containers.gpus.env[1].name=SYS_ROOT", "kubeletPlugin.containers.gpus.env[1].value=/driver-root/sys",
	"kubeletPlugin.containers.gpus.env[2].name=COTENANT_SIM_DEV", "kubeletPlugin.containers.gpus.env[2].value=/driver-root/dev",
}

// InstallCommand is the walkthrough's command line, for people.
func InstallCommand() string {
	s := "helm install cotenant deploy/helm/cotenant --create-namespace --namespace " + Namespace
	for _, v := range walkthroughValues {
		s += " --set " + v
	}
	return s
}

// Install installs the chart with the walkthrough's values and waits until its
// pods are ready.
func (l *Lab) Install(ctx context.Context) (string, error) {
	args := []string{"install", "cotenant", l.Path("deploy/helm/cotenant"), "--create-namespace", "--namespace", Namespace, "--wait", "--timeout", "3m"}
	for _, v := range append(append([]string(nil), walkthroughValues...), labValues...) {
		args = append(args, "--set", v)
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	out, err := l.Helm(ctx, args...)
	if err == nil {
		return out, nil
	}
	pods, _ := l.Kubectl(context.WithoutCancel(ctx), "-n", Namespace, "get", "pods,events", "-o", "wide")
	logs, _ := l.Kubectl(context.WithoutCancel(ctx), "-n", Namespace, "logs", "--all-pods=true", "--prefix", "-l", "app.kubernetes.io/instance=cotenant", "--tail", "20")
	return out, fmt.Errorf("%w\n%s\n%s", err, pods, logs)
}
