// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// clients knows which containers would be clients of which MPS daemons. A container
// can use one: both would be found in the same directory, the second would hide the
// first, and one of the GPUs would be out of reach, or used without its limits. Nor
// can it have shares whose memory the driver limits by the container, of two sizes.
//
// The claim does not tell which containers use it; its pods do, and their other
// claims.
type clients struct {
	client kubernetes.Interface
	pool   string
	shared func() map[string]sharing.Shared
}

// had is what there can be one of in a container, by the request that it was
// allocated for: MPS daemons, by ID, and memory limits of containers, by their size.
type had struct {
	daemons, limits map[string][]string
}

func (h had) none() bool { return len(h.daemons)+len(h.limits) == 0 }

// hadBy returns what the containers of a claim have of that.
func (m clients) hadBy(c sharing.Claim) had {
	out := had{daemons: map[string][]string{}, limits: map[string][]string{}}
	var shared map[string]sharing.Shared
	for _, a := range c.Asks {
		switch {
		case a.Admin:
		case sharing.TypeOf(a.Device) == api.TypeShare:
			if shared == nil {
				shared = m.shared()
			}
			s := shared[a.Device]
			if s.Mode == v1alpha1.MPS {
				out.daemons[a.Request] = append(out.daemons[a.Request], a.Device)
			}
			if s.Memory == sharing.MemoryPerContainer {
				out.limits[a.Request] = append(out.limits[a.Request], fmt.Sprintf("%d MiB", s.MemoryMiB))
			}
		case a.Settings != nil && a.Settings.Strategy == nvidia.StrategyMPS:
			out.daemons[a.Request] = append(out.daemons[a.Request], c.UID)
		}
	}
	return out
}

// named are those of one request of a container, or of all for "".
func named(of map[string][]string, request string) []string {
	var out []string
	for r, ids := range of {
		if request == "" || r == request || resourceclaim.BaseRequestRef(r) == request {
			out = append(out, ids...)
		}
	}
	return out
}

// check refuses the claim if one of its containers would be a client of two daemons,
// or be told two memory limits: the driver's hook takes one for all of its GPUs.
func (m clients) check(ctx context.Context, c sharing.Claim) error {
	mine := m.hadBy(c)
	if mine.none() {
		return nil
	}
	found := false
	for _, p := range c.Pods {
		pod, err := m.client.CoreV1().Pods(c.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && string(pod.UID) != p.UID {
			continue // it is gone, and so are its containers
		}
		if err != nil {
			return fmt.Errorf("look which containers of pod %s/%s use the claim: %w", c.Namespace, p.Name, err)
		}
		found = true
		if err := m.checkPod(ctx, pod, c.Name, mine); err != nil {
			return err
		}
	}
	if !found { // it may be one container that uses all of it
		return oneOnly(named(mine.daemons, ""), named(mine.limits, ""), "who uses claim "+c.Namespace+"/"+c.Name)
	}
	return nil
}

// checkPod looks at every container that uses the claim and at least one other.
func (m clients) checkPod(ctx context.Context, pod *corev1.Pod, claim string, mine had) error {
	known := map[string]had{claim: mine}
	for _, u := range uses(pod) {
		if !u.of(claim) {
			continue
		}
		var daemons, limits []string
		for _, r := range u.refs {
			of, ok := known[r.claim]
			if !ok {
				var err error
				if of, err = m.other(ctx, pod.Namespace, r.claim); err != nil {
					return err
				}
				known[r.claim] = of
			}
			daemons = append(daemons, named(of.daemons, r.request)...)
			limits = append(limits, named(of.limits, r.request)...)
		}
		who := fmt.Sprintf("container %s of pod %s/%s", u.container, pod.Namespace, pod.Name)
		if err := oneOnly(daemons, limits, who); err != nil {
			return err
		}
	}
	return nil
}

// other returns what another claim of the pod has. One that is not there, or not of
// this node, has nothing.
func (m clients) other(ctx context.Context, namespace, name string) (had, error) {
	rc, err := m.client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return had{}, nil
	}
	if err != nil {
		return had{}, fmt.Errorf("look at the other claims of the pod: %w", err)
	}
	c, err := decode(rc, m.pool)
	if err != nil {
		return had{}, nil // it will not be prepared
	}
	return m.hadBy(c), nil
}

func oneOnly(daemons, limits []string, who string) error {
	if all := slices.Compact(slices.Sorted(slices.Values(daemons))); len(all) > 1 {
		return api.Errorf(api.Invalid, "%s would be a client of %d MPS daemons (%s), and a container can use one; ask for one, or use them in different containers", who, len(all), strings.Join(all, ", "))
	}
	if all := slices.Compact(slices.Sorted(slices.Values(limits))); len(all) > 1 {
		return api.Errorf(api.Invalid, "%s would have shares with memory limits of %s, and the driver takes one limit for all GPUs of a container; use them in different containers", who, strings.Join(all, " and "))
	}
	return nil
}

// use is what one container uses.
type use struct {
	container string
	refs      []ref
}

// ref is a claim, by its name, and a request of it, or "" for all.
type ref struct{ claim, request string }

func (u use) of(claim string) bool {
	return slices.ContainsFunc(u.refs, func(r ref) bool { return r.claim == claim })
}

// uses are the claims that the pod's containers use, those for extended resources
// included.
func uses(pod *corev1.Pod) []use {
	names := map[string]string{}
	for _, c := range pod.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			names[c.Name] = *c.ResourceClaimName
		}
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.ResourceClaimName != nil {
			names[s.Name] = *s.ResourceClaimName
		}
	}
	var out []use
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		u := use{container: c.Name}
		for _, r := range c.Resources.Claims {
			if name, ok := names[r.Name]; ok {
				u.refs = append(u.refs, ref{claim: name, request: r.Request})
			}
		}
		if ext := pod.Status.ExtendedResourceClaimStatus; ext != nil {
			for _, m := range ext.RequestMappings {
				if m.ContainerName == c.Name {
					u.refs = append(u.refs, ref{claim: ext.ResourceClaimName, request: m.RequestName})
				}
			}
		}
		out = append(out, u)
	}
	return out
}
