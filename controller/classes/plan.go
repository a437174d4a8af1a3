// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// World is everything that a plan may depend on.
type World struct {
	Classes       []v1alpha1.GPUClass
	Policies      []v1alpha1.SharingPolicy
	DeviceClasses []resourceapi.DeviceClass
	// Dropped are the versions of DeviceClasses of ours, by name, whose extended
	// resource name the API server dropped when it was written.
	Dropped map[string]string
}

// Plan is what has to be done, each list in the order of names. DeviceClasses
// that go, go first.
type Plan struct {
	// Withdraw are DeviceClasses of ours that must not be.
	Withdraw []*resourceapi.DeviceClass
	// Program are the DeviceClasses that have to be made or changed.
	Program []Change
	// Release are GPUClasses that may go.
	Release []*v1alpha1.GPUClass
	// Classes are the reports about the classes that stay.
	Classes []ClassReport

	policies []*v1alpha1.SharingPolicy
}

// Change makes a DeviceClass for a GPUClass, or changes the one that is there.
type Change struct {
	For  *v1alpha1.GPUClass
	Have *resourceapi.DeviceClass // nil: it has to be made
	Want DeviceClass
}

// ClassReport is what there is to say about a class.
type ClassReport struct {
	Object     *v1alpha1.GPUClass
	Accepted   Verdict
	Programmed Verdict // once the plan is carried out
}

// decide makes the plan. It depends on its arguments alone.
func decide(w World, compiles check) Plan {
	v := look(w)
	p := Plan{Withdraw: v.withdraw(), policies: v.policies}
	for _, name := range v.names() {
		class := v.classes[name]
		if class.DeletionTimestamp != nil {
			if !v.has(name) {
				p.Release = append(p.Release, class)
			}
			continue
		}
		r := ClassReport{Object: class, Accepted: v.accept(class)}
		var change *Change
		r.Programmed, change = v.program(class, r.Accepted, compiles)
		if change != nil {
			p.Program = append(p.Program, *change)
		}
		p.Classes = append(p.Classes, r)
	}
	return p
}

// program decides about the DeviceClass of a class.
func (v *view) program(class *v1alpha1.GPUClass, accepted Verdict, compiles check) (Verdict, *Change) {
	have, offers := v.devices[class.Name], v.offers[class.Name]
	switch {
	case have != nil && !ours(have):
		return foreign(have), nil
	case !accepted.Holds:
		return Verdict{Reason: NotAccepted, Message: accepted.Message}, nil
	case have != nil && have.DeletionTimestamp != nil:
		return going(have), nil
	}
	want := DeviceClass{Name: class.Name, Expression: expression(offers), ExtendedResource: class.Spec.ExtendedResourceName}
	if err := compiles(want.Expression); err != nil {
		return refused(offers, have, err), nil
	}
	other := v.rival(class)
	if other != nil && have == nil {
		return rivalry(other, class), nil
	}
	var change *Change
	dropped := have != nil && v.lost(have)
	if have == nil || !want.equals(have, dropped) {
		change = &Change{For: class, Have: have, Want: want}
	}
	switch {
	case dropped:
		return drop(class), change
	case other != nil:
		return rivalry(other, class), change
	case len(offers) == 0:
		return noOffer(class), change
	default:
		return inForce(class, offers), change
	}
}
