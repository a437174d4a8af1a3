// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"cmp"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// view is a world in the order in which it is asked.
type view struct {
	classes  map[string]*v1alpha1.GPUClass
	policies []*v1alpha1.SharingPolicy // that stay, by name
	devices  map[string]*resourceapi.DeviceClass
	offers   map[string][]given // by the class they name
	dropped  map[string]string  // the version without its extended resource name
	holder   map[string]string  // the class that may have an extended resource name
}

func look(w World) *view {
	v := &view{
		classes: map[string]*v1alpha1.GPUClass{}, devices: map[string]*resourceapi.DeviceClass{},
		offers: map[string][]given{}, dropped: w.Dropped, holder: map[string]string{},
	}
	for i := range w.DeviceClasses {
		v.devices[w.DeviceClasses[i].Name] = &w.DeviceClasses[i]
	}
	for i := range w.Classes {
		v.classes[w.Classes[i].Name] = &w.Classes[i]
	}
	for i := range w.Policies {
		if p := &w.Policies[i]; p.DeletionTimestamp == nil {
			v.policies = append(v.policies, p)
		}
	}
	slices.SortFunc(v.policies, func(a, b *v1alpha1.SharingPolicy) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range v.policies {
		for _, o := range p.Spec.Offers {
			for _, class := range o.ClassNames {
				v.offers[class] = append(v.offers[class], given{policy: p.Name, offer: o})
			}
		}
	}
	v.hold()
	return v
}

func (v *view) names() []string { return slices.Sorted(maps.Keys(v.classes)) }

// hold gives each extended resource name to one class: the oldest, then the one
// that has its DeviceClass already, then the first by name.
func (v *view) hold() {
	for _, name := range v.names() {
		class := v.classes[name]
		resource := class.Spec.ExtendedResourceName
		if resource == "" || class.DeletionTimestamp != nil {
			continue
		}
		if other, held := v.classes[v.holder[resource]]; !held || v.before(class, other) {
			v.holder[resource] = name
		}
	}
}

func (v *view) before(a, b *v1alpha1.GPUClass) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	if has := v.has(a.Name); has != v.has(b.Name) {
		return has
	}
	return a.Name < b.Name
}

// has says whether the class has its DeviceClass.
func (v *view) has(class string) bool {
	d := v.devices[class]
	return d != nil && ours(d)
}

// lost says whether this is the version of a DeviceClass of which it is known that
// the API server does not keep its extended resource name.
func (v *view) lost(d *resourceapi.DeviceClass) bool {
	version, known := v.dropped[d.Name]
	return known && version == d.ResourceVersion && resourceOf(d) == ""
}

// accept says whether a class is sound beside the others.
func (v *view) accept(class *v1alpha1.GPUClass) Verdict {
	if resource := class.Spec.ExtendedResourceName; resource != "" && v.holder[resource] != class.Name {
		return conflict(class, v.holder[resource])
	}
	return Verdict{Holds: true, Reason: Accepted, Message: "the class is sound"}
}

// rival returns another DeviceClass that has the extended resource name of a
// class, or nil.
func (v *view) rival(class *v1alpha1.GPUClass) *resourceapi.DeviceClass {
	resource := class.Spec.ExtendedResourceName
	if resource == "" {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v.devices)) {
		d := v.devices[name]
		if name != class.Name && resourceOf(d) == resource {
			return d
		}
	}
	return nil
}

// withdraw are the DeviceClasses of ours that nothing asks for.
func (v *view) withdraw() []*resourceapi.DeviceClass {
	var gone []*resourceapi.DeviceClass
	for _, name := range slices.Sorted(maps.Keys(v.devices)) {
		d, class := v.devices[name], v.classes[name]
		if !ours(d) || d.DeletionTimestamp != nil {
			continue
		}
		if class == nil || class.DeletionTimestamp != nil || !v.accept(class).Holds {
			gone = append(gone, d)
		}
	}
	return gone
}
