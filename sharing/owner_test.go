// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// born is when the oldest policy of these tests was made.
var born = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type edit func(*v1alpha1.SharingPolicy)

// policy is one that selects every node, made some seconds after the oldest.
func policy(name string, priority int32, age int, edits ...edit) v1alpha1.SharingPolicy {
	p := v1alpha1.SharingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(born.Add(time.Duration(age) * time.Second))}}
	p.Spec.Priority = priority
	p.Spec.Offers = []v1alpha1.Offer{{Name: name}}
	for _, e := range edits {
		e(&p)
	}
	return p
}

func onNodes(labels ...string) edit {
	return func(p *v1alpha1.SharingPolicy) {
		p.Spec.NodeSelector.MatchLabels = map[string]v1alpha1.LabelValue{}
		for i := 0; i < len(labels); i += 2 {
			p.Spec.NodeSelector.MatchLabels[labels[i]] = v1alpha1.LabelValue(labels[i+1])
		}
	}
}

func nodes(key string, op metav1.LabelSelectorOperator, values ...v1alpha1.LabelValue) edit {
	return func(p *v1alpha1.SharingPolicy) {
		p.Spec.NodeSelector.MatchExpressions = append(p.Spec.NodeSelector.MatchExpressions, v1alpha1.LabelSelectorRequirement{Key: key, Operator: op, Values: values})
	}
}

func onGPUs(expression string) edit {
	return func(p *v1alpha1.SharingPolicy) {
		p.Spec.GPUSelector = &v1alpha1.GPUSelector{CEL: v1alpha1.CELSelector{Expression: expression}}
	}
}

func deleted(p *v1alpha1.SharingPolicy) { p.DeletionTimestamp = new(metav1.NewTime(born)) }

// matchProduct matches the GPU's product; "!" cannot be evaluated.
func matchProduct(p *v1alpha1.SharingPolicy, g GPU) (bool, error) {
	if p.Spec.GPUSelector.CEL.Expression == "!" {
		return true, errors.New("no such attribute")
	}
	return p.Spec.GPUSelector.CEL.Expression == g.Product, nil
}

func TestOwn(t *testing.T) {
	labels := map[string]string{"pool": "a", "zone": "1"}
	for name, c := range map[string]struct {
		policies  []v1alpha1.SharingPolicy
		owner     string
		outranked []string
		failed    map[string]string
	}{
		"nobody":                {owner: "default"},
		"the only one":          {policies: []v1alpha1.SharingPolicy{policy("a", 0, 0)}, owner: "a"},
		"the highest":           {policies: []v1alpha1.SharingPolicy{policy("a", 1, 0), policy("b", 2, 9), policy("c", -1, 0)}, owner: "b", outranked: []string{"a", "c"}},
		"of equals, the oldest": {policies: []v1alpha1.SharingPolicy{policy("a", 1, 2), policy("b", 1, 1), policy("c", 1, 3)}, owner: "b", outranked: []string{"a", "c"}},
		"of one age, by name":   {policies: []v1alpha1.SharingPolicy{policy("b", 1, 1), policy("a", 1, 1)}, owner: "a", outranked: []string{"b"}},
		"being deleted":         {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0, deleted), policy("b", 0, 0)}, owner: "b"},
		"all being deleted":     {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0, deleted)}, owner: "default"},
		"one named default":     {policies: []v1alpha1.SharingPolicy{policy("default", 0, 0)}, owner: "default"},
		"of other nodes":        {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0, onNodes("pool", "b")), policy("b", 0, 0, onNodes("pool", "a", "zone", "1"))}, owner: "b"},
		"a label more":          {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0, onNodes("pool", "a", "gone", "x"))}, owner: "default"},
		"of other GPUs":         {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0, onGPUs("T4")), policy("b", 0, 0, onGPUs("H100"))}, owner: "b"},
		"one that fails is no match": {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0, onGPUs("!")), policy("b", 0, 0)}, owner: "b",
			failed: map[string]string{"a": "no such attribute"}},
		"one that fails and nobody else": {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0, onGPUs("!"))}, owner: "default",
			failed: map[string]string{"a": "no such attribute"}},
		"one that fails and is outranked": {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0), policy("b", 0, 0, onGPUs("!"))}, owner: "a",
			failed: map[string]string{"b": "no such attribute"}},
		"one that would fail on other nodes": {policies: []v1alpha1.SharingPolicy{policy("a", 9, 0, onNodes("pool", "b"), onGPUs("!"))}, owner: "default"},
		"in":                                 {policies: []v1alpha1.SharingPolicy{policy("a", 0, 0, nodes("pool", metav1.LabelSelectorOpIn, "a", "b"))}, owner: "a"},
		"not in":                             {policies: []v1alpha1.SharingPolicy{policy("a", 0, 0, nodes("pool", metav1.LabelSelectorOpNotIn, "a"))}, owner: "default"},
		"exists":                             {policies: []v1alpha1.SharingPolicy{policy("a", 0, 0, nodes("zone", metav1.LabelSelectorOpExists))}, owner: "a"},
		"not":                                {policies: []v1alpha1.SharingPolicy{policy("a", 0, 0, nodes("spot", metav1.LabelSelectorOpDoesNotExist))}, owner: "a"},
		"labels and expressions":             {policies: []v1alpha1.SharingPolicy{policy("a", 0, 0, onNodes("pool", "a"), nodes("zone", metav1.LabelSelectorOpIn, "2"))}, owner: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Own(c.policies, labels, GPU{Product: "H100"}, matchProduct)
			want := Ownership{Policy: c.owner, Offers: []v1alpha1.Offer{{Name: c.owner}}, Outranked: c.outranked, Failed: c.failed}
			if c.owner == "default" && (len(c.policies) == 0 || c.policies[0].Name != "default") {
				want.Offers = DefaultOffers()
			}
			if d := cmp.Diff(want, o); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A selector that no label selector can be made of costs that policy alone.
func TestOwnWithABrokenNodeSelector(t *testing.T) {
	o := Own([]v1alpha1.SharingPolicy{policy("a", 9, 0, nodes("pool", "Near", "x")), policy("b", 0, 0)}, nil, GPU{}, matchProduct)
	if o.Policy != "b" || !strings.Contains(o.Failed["a"], "nodeSelector") || !strings.Contains(o.Failed["a"], "Near") {
		t.Errorf("owner %q, failed %q", o.Policy, o.Failed)
	}
}

// Every node answers alike, in whatever order it learnt of the policies.
func TestOwnerDoesNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var policies []v1alpha1.SharingPolicy
		for i := range rapid.IntRange(1, 6).Draw(t, "policies") {
			p := policy(string(rune('a'+i)), rapid.Int32Range(0, 1).Draw(t, "priority"), rapid.IntRange(0, 1).Draw(t, "age"))
			if e := rapid.SampledFrom([]string{"", "H100", "T4", "!"}).Draw(t, "selector"); e != "" {
				onGPUs(e)(&p)
			}
			policies = append(policies, p)
		}
		want := Own(policies, nil, GPU{Product: "H100"}, matchProduct)
		got := Own(rapid.Permutation(policies).Draw(t, "order"), nil, GPU{Product: "H100"}, matchProduct)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}
