// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Match says whether the CEL expression of a policy's gpuSelector is true for a
// GPU. It is only asked of policies that have one.
type Match func(p *v1alpha1.SharingPolicy, g GPU) (bool, error)

// Ownership says which policy a GPU is under.
type Ownership struct {
	// Policy is the owner's name. A GPU that no policy selects is under
	// api.DefaultPolicy, with the offers that policy is created with.
	Policy string
	Offers []v1alpha1.Offer
	// Outranked are the other policies that select the GPU, in their order.
	Outranked []string
	// Failed says of policies why their selector could not be evaluated. That is
	// no match.
	Failed map[string]string
}

// Own resolves which policy owns a GPU: of those that select node and GPU, the
// one with the highest priority, then the oldest, then the first by name. It is
// the only place where this is decided; everybody else reads the attribute that
// the answer is published as.
func Own(policies []v1alpha1.SharingPolicy, nodeLabels map[string]string, g GPU, match Match) Ownership {
	o := Ownership{Policy: api.DefaultPolicy, Offers: DefaultOffers()}
	found := false
	for _, p := range ranked(policies) {
		selected, err := selects(p, nodeLabels, g, match)
		if err != nil {
			if o.Failed == nil {
				o.Failed = map[string]string{}
			}
			o.Failed[p.Name] = err.Error()
			continue
		}
		if !selected {
			continue
		}
		if found {
			o.Outranked = append(o.Outranked, p.Name)
			continue
		}
		found = true
		o.Policy, o.Offers = p.Name, p.Spec.Offers
	}
	return o
}

// DefaultOffers are those of a node that no policy selects: whole GPUs, and the
// MIG instances that are there.
func DefaultOffers() []v1alpha1.Offer {
	return []v1alpha1.Offer{
		{Name: "whole", ClassNames: []string{api.GPUClassName}, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}},
		{Name: "mig", ClassNames: []string{api.MIGClassName}, Device: v1alpha1.OfferDevice{
			Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGExisting}}},
	}
}

func ranked(policies []v1alpha1.SharingPolicy) []*v1alpha1.SharingPolicy {
	var out []*v1alpha1.SharingPolicy
	for i := range policies {
		if policies[i].DeletionTimestamp == nil {
			out = append(out, &policies[i])
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.SharingPolicy) int {
		return cmp.Or(
			cmp.Compare(b.Spec.Priority, a.Spec.Priority),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return out
}

// selects says whether the policy is about this GPU of this node.
func selects(p *v1alpha1.SharingPolicy, nodeLabels map[string]string, g GPU, match Match) (bool, error) {
	node, err := SelectsNode(p, nodeLabels)
	if err != nil || !node {
		return false, err
	}
	if p.Spec.GPUSelector == nil {
		return true, nil
	}
	return match(p, g)
}

// SelectsNode says whether a policy is about the node with these labels.
func SelectsNode(p *v1alpha1.SharingPolicy, nodeLabels map[string]string) (bool, error) {
	want := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for k, v := range p.Spec.NodeSelector.MatchLabels {
		want.MatchLabels[k] = string(v)
	}
	for _, e := range p.Spec.NodeSelector.MatchExpressions {
		r := metav1.LabelSelectorRequirement{Key: e.Key, Operator: e.Operator}
		for _, v := range e.Values {
			r.Values = append(r.Values, string(v))
		}
		want.MatchExpressions = append(want.MatchExpressions, r)
	}
	s, err := metav1.LabelSelectorAsSelector(want)
	if err != nil {
		return false, fmt.Errorf("nodeSelector: %w", err)
	}
	return s.Matches(labels.Set(nodeLabels)), nil
}
