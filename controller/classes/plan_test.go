// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// class is a GPUClass; age is how many minutes after the epoch it was created.
func class(name, resource string, age int, change ...func(*v1alpha1.GPUClass)) v1alpha1.GPUClass {
	c := v1alpha1.GPUClass{ObjectMeta: metav1.ObjectMeta{
		Name: name, Generation: 1, CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(age) * time.Minute))}}
	c.Spec.ExtendedResourceName = resource
	for _, f := range change {
		f(&c)
	}
	return c
}

func deleted(c *v1alpha1.GPUClass) {
	c.DeletionTimestamp = &metav1.Time{Time: epoch.Add(time.Hour)}
	c.Finalizers = []string{Finalizer}
}

// policy offers whole GPUs to classes.
func policy(name string, classes ...string) v1alpha1.SharingPolicy {
	p := v1alpha1.SharingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	p.Spec.Offers = []v1alpha1.Offer{{Name: "whole", ClassNames: classes, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}}}
	return p
}

// made is the DeviceClass as this controller makes it.
func made(name, resource string, offers ...given) resourceapi.DeviceClass {
	return *DeviceClass{Name: name, Expression: expression(offers), ExtendedResource: resource}.object()
}

// handmade is a DeviceClass that somebody made.
func handmade(name, resource string) resourceapi.DeviceClass {
	d := made(name, resource)
	d.Annotations, d.Labels = nil, nil
	return d
}

func changed(d resourceapi.DeviceClass, f func(*resourceapi.DeviceClass)) resourceapi.DeviceClass {
	f(&d)
	return d
}

// said is a plan, and what is said when it is carried out, in short.
type said struct {
	Withdraw, Create, Change, Release []string
	Classes, Policies                 map[string]string // "Accepted Programmed"
}

func short(p Plan) said {
	s := said{Classes: map[string]string{}, Policies: map[string]string{}}
	for _, d := range p.Withdraw {
		s.Withdraw = append(s.Withdraw, d.Name)
	}
	for _, c := range p.Program {
		if c.Have == nil {
			s.Create = append(s.Create, c.Want.Name)
		} else {
			s.Change = append(s.Change, c.Want.Name)
		}
	}
	for _, c := range p.Release {
		s.Release = append(s.Release, c.Name)
	}
	for _, r := range p.Classes {
		s.Classes[r.Object.Name] = r.Accepted.Reason + " " + r.Programmed.Reason
	}
	for _, r := range p.judge(Compile) {
		s.Policies[r.Object.Name] = r.Accepted.Reason + " " + r.Programmed.Reason
	}
	return s
}

const fine = "Accepted Programmed"

func TestPlan(t *testing.T) {
	cases := map[string]struct {
		world World
		want  said
	}{
		"a class and its offer": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a")}},
			said{Create: []string{"a"}, Classes: map[string]string{"a": fine}, Policies: map[string]string{"p": fine}},
		},
		"nothing to do": {
			World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 0)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a")},
				DeviceClasses: []resourceapi.DeviceClass{made("a", "x.com/gpu", whole("p"))}},
			said{Classes: map[string]string{"a": fine}, Policies: map[string]string{"p": fine}},
		},
		"a class that no offer serves": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}},
			said{Create: []string{"a"}, Classes: map[string]string{"a": "Accepted NoOffer"}},
		},
		"an offer of a class that is not there": {
			World{Policies: []v1alpha1.SharingPolicy{policy("p", "a")}},
			said{Policies: map[string]string{"p": "ClassNotFound NotAccepted"}},
		},
		"one of two classes is missing and the other is served": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a", "b")}},
			said{Create: []string{"a"}, Classes: map[string]string{"a": fine}, Policies: map[string]string{"p": "ClassNotFound NotAccepted"}},
		},
		"a foreign class": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a")},
				DeviceClasses: []resourceapi.DeviceClass{handmade("a", "")}},
			said{Classes: map[string]string{"a": "Accepted ForeignClass"}, Policies: map[string]string{"p": "Accepted ClassNotProgrammed"}},
		},
		"a copy of ours under another name is foreign": {
			World{Classes: []v1alpha1.GPUClass{class("b", "", 0)},
				DeviceClasses: []resourceapi.DeviceClass{changed(made("a", ""), func(d *resourceapi.DeviceClass) { d.Name = "b" })}},
			said{Classes: map[string]string{"b": "Accepted ForeignClass"}},
		},
		"foreign classes without a GPUClass are left alone": {
			World{DeviceClasses: []resourceapi.DeviceClass{handmade("a", "x.com/gpu")}}, said{},
		},
		"ours without a GPUClass goes": {
			World{DeviceClasses: []resourceapi.DeviceClass{made("a", "")}}, said{Withdraw: []string{"a"}},
		},
		"a deleted class loses its DeviceClass first": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 0, deleted)}, DeviceClasses: []resourceapi.DeviceClass{made("a", "")}},
			said{Withdraw: []string{"a"}},
		},
		"and goes then": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 0, deleted)}}, said{Release: []string{"a"}},
		},
		"a deleted class does not take a foreign one along": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 0, deleted)}, DeviceClasses: []resourceapi.DeviceClass{handmade("a", "")}},
			said{Release: []string{"a"}},
		},
		"an offer of a class that is going": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 0, deleted)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a")}},
			said{Release: []string{"a"}, Policies: map[string]string{"p": "ClassNotFound NotAccepted"}},
		},
		"one extended name twice: the older wins": {
			World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 2), class("b", "x.com/gpu", 1)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a", "b")}},
			said{Create: []string{"b"}, Classes: map[string]string{"a": "ExtendedResourceConflict NotAccepted", "b": fine},
				Policies: map[string]string{"p": "Accepted ClassNotProgrammed"}},
		},
		"of two of one age the one that is in force wins": {
			World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 1), class("b", "x.com/gpu", 1)},
				DeviceClasses: []resourceapi.DeviceClass{made("b", "x.com/gpu")}},
			said{Classes: map[string]string{"a": "ExtendedResourceConflict NotAccepted", "b": "Accepted NoOffer"}},
		},
		"the loser's DeviceClass goes": {
			World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 2), class("b", "x.com/gpu", 1)},
				DeviceClasses: []resourceapi.DeviceClass{made("a", "x.com/gpu"), made("b", "x.com/gpu")}},
			said{Withdraw: []string{"a"}, Classes: map[string]string{"a": "ExtendedResourceConflict NotAccepted", "b": "Accepted Waiting"}},
		},
		"the next one waits until the first is gone": {
			World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 1, deleted), class("b", "x.com/gpu", 2)},
				DeviceClasses: []resourceapi.DeviceClass{made("a", "x.com/gpu")}},
			said{Withdraw: []string{"a"}, Classes: map[string]string{"b": "Accepted Waiting"}},
		},
		"a foreign class has the extended name": {
			World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 1)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a")},
				DeviceClasses: []resourceapi.DeviceClass{handmade("z", "x.com/gpu")}},
			said{Classes: map[string]string{"a": "Accepted ExtendedResourceTaken"}, Policies: map[string]string{"p": "Accepted ClassNotProgrammed"}},
		},
		"a foreign class took the extended name later": {
			World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 1)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a")},
				DeviceClasses: []resourceapi.DeviceClass{made("a", "x.com/gpu"), handmade("z", "x.com/gpu")}},
			said{Change: []string{"a"}, Classes: map[string]string{"a": "Accepted ExtendedResourceTaken"}, Policies: map[string]string{"p": "Accepted ClassNotProgrammed"}},
		},
		"ours is being deleted by somebody": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 1)},
				DeviceClasses: []resourceapi.DeviceClass{changed(made("a", ""), func(d *resourceapi.DeviceClass) { d.DeletionTimestamp = &metav1.Time{Time: epoch} })}},
			said{Classes: map[string]string{"a": "Accepted Waiting"}},
		},
		"somebody gave ours a config": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 1)},
				DeviceClasses: []resourceapi.DeviceClass{changed(made("a", ""), func(d *resourceapi.DeviceClass) {
					d.Spec.Config = []resourceapi.DeviceClassConfiguration{{}}
				})}},
			said{Change: []string{"a"}, Classes: map[string]string{"a": "Accepted NoOffer"}},
		},
		"somebody took our label off": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 1)},
				DeviceClasses: []resourceapi.DeviceClass{changed(made("a", ""), func(d *resourceapi.DeviceClass) { d.Labels = nil })}},
			said{Change: []string{"a"}, Classes: map[string]string{"a": "Accepted NoOffer"}},
		},
		"a policy that is going offers nothing": {
			World{Classes: []v1alpha1.GPUClass{class("a", "", 1)}, Policies: []v1alpha1.SharingPolicy{
				func() v1alpha1.SharingPolicy {
					p := policy("p", "a")
					p.DeletionTimestamp = &metav1.Time{Time: epoch}
					return p
				}()}, DeviceClasses: []resourceapi.DeviceClass{made("a", "", whole("p"))}},
			said{Change: []string{"a"}, Classes: map[string]string{"a": "Accepted NoOffer"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.want.Classes == nil {
				c.want.Classes = map[string]string{}
			}
			if c.want.Policies == nil {
				c.want.Policies = map[string]string{}
			}
			if diff := gocmp.Diff(c.want, short(decide(c.world, Compile))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// A message names the other object and the next thing to do.
func TestMessages(t *testing.T) {
	selector := policy("p", "a")
	selector.Spec.GPUSelector = &v1alpha1.GPUSelector{CEL: v1alpha1.CELSelector{Expression: "device.nonsense == 1"}}
	cases := map[string]struct {
		world World
		of    string
		want  []string
	}{
		"foreign class": {World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}, DeviceClasses: []resourceapi.DeviceClass{handmade("a", "")}},
			"class a", []string{`DeviceClass "a"`, "delete it"}},
		"conflict": {World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 0), class("b", "x.com/gpu", 1)}},
			"class b", []string{`GPUClass "a"`, "x.com/gpu", "delete one"}},
		"taken": {World{Classes: []v1alpha1.GPUClass{class("a", "x.com/gpu", 0)}, DeviceClasses: []resourceapi.DeviceClass{handmade("z", "x.com/gpu")}},
			"class a", []string{`DeviceClass "z"`, "x.com/gpu", "delete it"}},
		"no offer": {World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}}, "class a", []string{`add "a" to classNames`}},
		"in force": {World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}, Policies: []v1alpha1.SharingPolicy{policy("p", "a"), policy("q", "a")}},
			"class a", []string{"p/whole, q/whole"}},
		"missing class": {World{Policies: []v1alpha1.SharingPolicy{policy("p", "a")}}, "policy p", []string{`offer "whole"`, `GPUClass "a"`, "create it"}},
		"bad selector": {World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}, Policies: []v1alpha1.SharingPolicy{selector}},
			"policy p", []string{"gpuSelector.cel.expression", "undefined field 'nonsense'"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := decide(c.world, Compile)
			got := map[string]string{}
			for _, r := range p.Classes {
				got["class "+r.Object.Name] = r.Accepted.Message + "\n" + r.Programmed.Message
			}
			for _, r := range p.judge(Compile) {
				got["policy "+r.Object.Name] = r.Accepted.Message + "\n" + r.Programmed.Message
			}
			for _, want := range c.want {
				if !strings.Contains(got[c.of], want) {
					t.Errorf("%q is not in:\n%s", want, got[c.of])
				}
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	cases := map[string]struct{ expression, want string }{
		"good":          {"device.attributes['gpu.nvidia.com'].?architecture.orValue('') == 'Hopper'", "Accepted"},
		"by memory":     {"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0", "Accepted"},
		"no syntax":     {"device.attributes[", "InvalidSelector"},
		"no bool":       {"'Hopper'", "InvalidSelector"},
		"unknown field": {"device.name == 'gpu-0'", "InvalidSelector"},
		"too expensive": {strings.Repeat("device.attributes.all(a, ", 5) + "true" + strings.Repeat(")", 5), "InvalidSelector"},
		"too long":      {"'" + strings.Repeat("x", 10240) + "' == ''", "InvalidSelector"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := policy("p", "a")
			p.Spec.GPUSelector = &v1alpha1.GPUSelector{CEL: v1alpha1.CELSelector{Expression: c.expression}}
			got := short(decide(World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}, Policies: []v1alpha1.SharingPolicy{p}}, Compile))
			if accepted, _, _ := strings.Cut(got.Policies["p"], " "); accepted != c.want {
				t.Errorf("got %s, want %s", accepted, c.want)
			}
			// Whatever becomes of the selector, the class keeps the offer.
			if got.Classes["a"] != fine {
				t.Errorf("the class is %s", got.Classes["a"])
			}
		})
	}
}

// A class that outgrows a limit keeps what it has and says so.
func TestExpressionOverTheLimit(t *testing.T) {
	w := World{Classes: []v1alpha1.GPUClass{class("a", "", 0)}, DeviceClasses: []resourceapi.DeviceClass{made("a", "")}}
	for i := range 300 {
		w.Policies = append(w.Policies, policy(strings.Repeat("p", 60)+string(rune('a'+i%26))+string(rune('a'+i/26)), "a"))
	}
	got := short(decide(w, Compile))
	if got.Classes["a"] != "Accepted ExpressionRefused" || len(got.Change) > 0 || len(got.Withdraw) > 0 {
		t.Errorf("got %v, change %v, withdraw %v", got.Classes, got.Change, got.Withdraw)
	}
}

// What a hundred policies need fits into one expression.
func TestExpressionOfAHundredPolicies(t *testing.T) {
	var offers []given
	for i := range 100 {
		name := strings.Repeat("p", 60) + string(rune('a'+i%26)) + string(rune('a'+i/26))
		offers = append(offers, whole(name), partitions(name, v1alpha1.MIGExisting))
	}
	if err := Compile(expression(offers[:150])); err != nil {
		t.Error(err)
	}
}

// An expression is compiled once, however often it is asked for, and forgotten
// two plans after it was last asked for.
func TestMemory(t *testing.T) {
	asked := 0
	m := memory{compile: func(string) error { asked++; return errors.New("no") }}
	for range 3 {
		m.turn()
		if first, again := m.check("x"), m.check("x"); first == nil || again == nil {
			t.Fatal("the answer was lost")
		}
	}
	if asked != 1 {
		t.Errorf("compiled %d times", asked)
	}
	m.turn()
	m.turn()
	if m.check("x"); asked != 2 {
		t.Errorf("compiled %d times; it should have been forgotten", asked)
	}
}
