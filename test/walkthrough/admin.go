// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/test/lab"
)

func nodePool(ctx context.Context, l *lab.Lab) (string, error) {
	return l.Kubectl(ctx, "get", "nodes", "-L", "nvidia.com/gpu.present,vke.node.gpu.schedule")
}

func install(ctx context.Context, l *lab.Lab) (string, error) { return l.Install(ctx) }

func apiResources(ctx context.Context, l *lab.Lab) (string, error) {
	shown, err := l.Kubectl(ctx, "api-resources", "--api-group=resource.k8s.io", "--no-headers")
	if err != nil {
		return "", err
	}
	for _, kind := range []string{"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"} {
		if !hasLine(shown, kind+" ", "resource.k8s.io/v1 ") {
			return shown, fmt.Errorf("%s are not served at v1", kind)
		}
	}
	return shown, nil
}

// hasLine says whether one line has all the parts.
func hasLine(text string, parts ...string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}

func pods(ctx context.Context, l *lab.Lab) (string, error) {
	shown, err := l.Kubectl(ctx, "get", "pods", "-n", lab.Namespace, "-o", "wide")
	if err != nil {
		return "", err
	}
	list, err := l.Client().CoreV1().Pods(lab.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "dra-driver-nvidia-gpu-component=kubelet-plugin"})
	if err != nil {
		return shown, err
	}
	if len(list.Items) != 1 {
		return shown, fmt.Errorf("%d kubelet-plugin pods, want one: there is one GPU node", len(list.Items))
	}
	if p := list.Items[0]; p.Spec.NodeName != GPUNode || p.Status.Phase != corev1.PodRunning {
		return shown, fmt.Errorf("the kubelet-plugin pod is %s on %s, want Running on %s", p.Status.Phase, p.Spec.NodeName, GPUNode)
	}
	return shown, nil
}

func classes(ctx context.Context, l *lab.Lab) (string, error) {
	err := lab.Eventually(ctx, 30*time.Second, func(ctx context.Context) (string, error) {
		for _, name := range []string{"gpu.nvidia.com", "mig.nvidia.com"} {
			if _, err := l.Client().ResourceV1().DeviceClasses().Get(ctx, name, metav1.GetOptions{}); err != nil {
				return "", err
			}
		}
		slices, err := ownSlices(ctx, l)
		if err == nil && len(slices) == 0 {
			return "no slice of driver gpu.nvidia.com yet", nil
		}
		return "", err
	})
	shown, kerr := l.Kubectl(ctx, "get", "deviceclass,resourceslice")
	return shown, errors.Join(err, kerr)
}

func ownSlices(ctx context.Context, l *lab.Lab) ([]resourceapi.ResourceSlice, error) {
	list, err := l.Client().ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.driver=gpu.nvidia.com"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func slice(ctx context.Context, l *lab.Lab) (string, error) {
	shown, err := l.Kubectl(ctx, "get", "resourceslice", "-o", "yaml")
	if err != nil {
		return "", err
	}
	slices, err := ownSlices(ctx, l)
	if err != nil {
		return shown, err
	}
	if len(slices) != 1 || len(slices[0].Spec.Devices) != 1 {
		return shown, fmt.Errorf("%d slices, want one with one device", len(slices))
	}
	s := slices[0]
	errs := []error{
		want("pool", s.Spec.Pool.Name, GPUNode),
		want("pool generation", s.Spec.Pool.Generation, int64(1)),
		want("slice count", s.Spec.Pool.ResourceSliceCount, int64(1)),
		want("node", deref(s.Spec.NodeName), GPUNode),
	}
	return shown, errors.Join(append(errs, device(s.Spec.Devices[0]))...)
}

// device checks the A30 as the walkthrough shows it: names, types and values.
func device(d resourceapi.Device) error {
	memory := d.Capacity["memory"]
	errs := []error{want("device", d.Name, "gpu-0"), want("memory", memory.Value.String(), "24Gi")}
	for name, v := range map[resourceapi.QualifiedName]string{
		"architecture": "Ampere", "brand": "Nvidia", "pcieBusID": "0000:65:01.0", "productName": "NVIDIA A30", "type": "gpu",
		"resource.kubernetes.io/pciBusID": "0000:65:01.0", "resource.kubernetes.io/pcieRoot": "pci0000:64",
	} {
		errs = append(errs, want(string(name)+" (string)", deref(d.Attributes[name].StringValue), v))
	}
	for name, v := range map[resourceapi.QualifiedName]string{"cudaComputeCapability": "8.0.0", "cudaDriverVersion": "12.2.0", "driverVersion": "535.129.3"} {
		errs = append(errs, want(string(name)+" (version)", deref(d.Attributes[name].VersionValue), v))
	}
	if uuid := deref(d.Attributes["uuid"].StringValue); !strings.HasPrefix(uuid, "GPU-") {
		errs = append(errs, fmt.Errorf("uuid is %q, want GPU-…", uuid))
	}
	return errors.Join(errs...)
}

func want[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func noDoubleCount(ctx context.Context, l *lab.Lab) (string, error) {
	node, err := l.Client().CoreV1().Nodes().Get(ctx, GPUNode, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for what, list := range map[string]corev1.ResourceList{"Capacity": node.Status.Capacity, "Allocatable": node.Status.Allocatable} {
		if q, there := list["nvidia.com/gpu"]; there {
			return "", fmt.Errorf("%s has nvidia.com/gpu: %s", what, q.String())
		}
	}
	return "(nothing: neither Capacity nor Allocatable names it)", nil
}
