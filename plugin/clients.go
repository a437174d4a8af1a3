// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"maps"
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
// first, and one of the GPUs would be out of reach, or used without its limits.
//
// The claim does not tell which containers use it; its pods do, and their other
// claims.
type clients struct {
	client kubernetes.Interface
	pool   string
	shared func() map[string]sharing.Shared
}

// daemons are the MPS daemons of a claim, by the request they were allocated for.
type daemons map[string]string

// daemonsOf returns the daemons that the claim's containers are clients of.
func (m clients) daemonsOf(c sharing.Claim) daemons {
	out := daemons{}
	var shared map[string]sharing.Shared
	for _, a := range c.Asks {
		switch {
		case a.Admin:
		case sharing.TypeOf(a.Device) == api.TypeShare:
			if shared == nil {
				shared = m.shared()
			}
			if shared[a.Device].Mode == v1alpha1.MPS {
				out[a.Request] = a.Device
			}
		case a.Settings != nil && a.Settings.Strategy == nvidia.StrategyMPS:
			out[a.Request] = c.UID
		}
	}
	return out
}

// distinct are the daemons, each once, sorted.
func (d daemons) distinct() []string { return slices.Compact(slices.Sorted(maps.Values(d))) }

// named are those of one request of a container, or of all for "".
func (d daemons) named(request string) []string {
	var out []string
	for r, id := range d {
		if request == "" || r == request || resourceclaim.BaseRequestRef(r) == request {
			out = append(out, id)
		}
	}
	return out
}

// check refuses the claim if one of its containers would be a client of two daemons.
func (m clients) check(ctx context.Context, c sharing.Claim) error {
	mine := m.daemonsOf(c)
	if len(mine) == 0 {
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
		return oneOnly(mine.distinct(), "who uses claim "+c.Namespace+"/"+c.Name)
	}
	return nil
}

// checkPod looks at every container that uses the claim and at least one other.
func (m clients) checkPod(ctx context.Context, pod *corev1.Pod, claim string, mine daemons) error {
	known := map[string]daemons{claim: mine}
	for _, u := range uses(pod) {
		if !u.of(claim) {
			continue
		}
		var all []string
		for _, r := range u.refs {
			of, ok := known[r.claim]
			if !ok {
				var err error
				if of, err = m.other(ctx, pod.Namespace, r.claim); err != nil {
					return err
				}
				known[r.claim] = of
			}
			all = append(all, of.named(r.request)...)
		}
		slices.Sort(all)
		who := fmt.Sprintf("container %s of pod %s/%s", u.container, pod.Namespace, pod.Name)
		if err := oneOnly(slices.Compact(all), who); err != nil {
			return err
		}
	}
	return nil
}

// other returns the daemons of another claim of the pod. One that is not there, or
// not of this node, has none.
func (m clients) other(ctx context.Context, namespace, name string) (daemons, error) {
	rc, err := m.client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the other claims of the pod: %w", err)
	}
	c, err := decode(rc, m.pool)
	if err != nil {
		return nil, nil // it will not be prepared
	}
	return m.daemonsOf(c), nil
}

func oneOnly(daemons []string, who string) error {
	if len(daemons) < 2 {
		return nil
	}
	return api.Errorf(api.Invalid, "%s would be a client of %d MPS daemons (%s), and a container can use one; ask for one, or use them in different containers", who, len(daemons), strings.Join(daemons, ", "))
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
