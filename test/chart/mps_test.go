// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// The supervisor of MPS daemons runs where the plugin does, is never replaced by
// itself, sees the host's processes, has no limit of memory, and no account.
func TestMPS(t *testing.T) {
	in := mustRender(t, walkthrough()...)
	ds := of[appsv1.DaemonSet](in)["demo-cotenant-mps"]
	if ds == nil || len(ds.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("no DaemonSet demo-cotenant-mps with one container in %v", of[appsv1.DaemonSet](in))
	}
	pod, c := ds.Spec.Template.Spec, ds.Spec.Template.Spec.Containers[0]
	if ds.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType || !pod.HostPID || pod.PriorityClassName != "system-node-critical" || !*c.SecurityContext.Privileged {
		t.Errorf("update %v, hostPID %v, priority %s, security %v", ds.Spec.UpdateStrategy, pod.HostPID, pod.PriorityClassName, c.SecurityContext)
	}
	if pod.HostNetwork || pod.HostIPC || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.ServiceAccountName != "" {
		t.Errorf("host network %v, host IPC %v, account %q, token %v", pod.HostNetwork, pod.HostIPC, pod.ServiceAccountName, pod.AutomountServiceAccountToken)
	}
	if c.Image != "cotenant.dev/mps:dev" || !slices.Contains(c.Args, "--shm-size=25%") || c.LivenessProbe != nil {
		t.Errorf("image %s, arguments %v, liveness %v", c.Image, c.Args, c.LivenessProbe)
	}
	if len(c.Resources.Limits) > 0 || c.Resources.Requests.Memory().IsZero() {
		t.Errorf("resources %v", c.Resources)
	}
	if diff := cmp.Diff([]corev1.Toleration{{Operator: "Exists"}}, pod.Tolerations); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	for k, v := range ds.Spec.Selector.MatchLabels {
		if ds.Spec.Template.Labels[k] != v {
			t.Errorf("the selector %s=%s does not match the pod's labels %v", k, v, ds.Spec.Template.Labels)
		}
	}
	plugin, _ := plugin(t, in)
	if diff := cmp.Diff(plugin.Spec.Template.Spec.Affinity, pod.Affinity); diff != "" {
		t.Errorf("it runs elsewhere than the plugin (-plugin +mps):\n%s", diff)
	}
	for _, m := range c.VolumeMounts {
		switch {
		case m.Name == "run" && m.MountPath == "/run/cotenant" && *m.MountPropagation == corev1.MountPropagationBidirectional && !m.ReadOnly:
		case m.Name == "driver-root" && m.MountPath == "/driver-root" && *m.MountPropagation == corev1.MountPropagationHostToContainer && m.ReadOnly:
		default:
			t.Errorf("mount %+v", m)
		}
	}
}

func TestMPSValues(t *testing.T) {
	if in := mustRender(t, "mps.enabled=false"); of[appsv1.DaemonSet](in)["demo-cotenant-mps"] != nil {
		t.Error("it is installed though it is switched off")
	}
	// A release moves the plugin's image and not this one.
	in := mustRender(t, "image.tag=v9", "image.pullPolicy=Never", "mps.shmSize=8g")
	c := of[appsv1.DaemonSet](in)["demo-cotenant-mps"].Spec.Template.Spec.Containers[0]
	if c.Image != "cotenant.dev/mps:dev" || c.ImagePullPolicy != "Never" || !slices.Contains(c.Args, "--shm-size=8g") {
		t.Errorf("image %s (%s), arguments %v", c.Image, c.ImagePullPolicy, c.Args)
	}
}
