// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	resourceapi "k8s.io/api/resource/v1"
	resourceac "k8s.io/client-go/applyconfigurations/resource/v1"

	"github.com/cotenant-dev/cotenant/api"
)

const (
	// FieldOwner is the field manager of all that the controller writes.
	FieldOwner = "cotenant-controller"
	// Marker is the annotation of a DeviceClass of ours. Its value is the name of
	// the GPUClass, which is also the DeviceClass's own: a copy under another
	// name is not ours.
	Marker = api.Group + "/gpu-class"
	// Finalizer keeps a GPUClass until its DeviceClass is gone.
	Finalizer = api.Group + "/device-class"

	managedByLabel = "app.kubernetes.io/managed-by"
	managedByUs    = "cotenant"
)

// DeviceClass is a DeviceClass as we want it.
type DeviceClass struct {
	Name             string
	Expression       string
	ExtendedResource string // "" is none
}

// ours says whether a DeviceClass was made here.
func ours(d *resourceapi.DeviceClass) bool { return d.Annotations[Marker] == d.Name }

// equals says whether there is nothing to write. A name that the API server does
// not keep need not be there.
func (c DeviceClass) equals(d *resourceapi.DeviceClass, dropped bool) bool {
	return ours(d) && d.Labels[managedByLabel] == managedByUs &&
		len(d.Spec.Selectors) == 1 && d.Spec.Selectors[0].CEL != nil && d.Spec.Selectors[0].CEL.Expression == c.Expression &&
		(resourceOf(d) == c.ExtendedResource || dropped && resourceOf(d) == "") && len(d.Spec.Config) == 0
}

func resourceOf(d *resourceapi.DeviceClass) string {
	if d.Spec.ExtendedResourceName == nil {
		return ""
	}
	return *d.Spec.ExtendedResourceName
}

// object returns the DeviceClass to create.
func (c DeviceClass) object() *resourceapi.DeviceClass {
	d := &resourceapi.DeviceClass{}
	d.Name = c.Name
	d.Labels = map[string]string{managedByLabel: managedByUs}
	d.Annotations = map[string]string{Marker: c.Name}
	d.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: c.Expression}}}
	if c.ExtendedResource != "" {
		d.Spec.ExtendedResourceName = &c.ExtendedResource
	}
	return d
}

// apply returns the DeviceClass to apply onto the version that was looked at.
func (c DeviceClass) apply(version string) *resourceac.DeviceClassApplyConfiguration {
	spec := resourceac.DeviceClassSpec().WithSelectors(
		resourceac.DeviceSelector().WithCEL(resourceac.CELDeviceSelector().WithExpression(c.Expression)))
	if c.ExtendedResource != "" {
		spec.WithExtendedResourceName(c.ExtendedResource)
	}
	return resourceac.DeviceClass(c.Name).
		WithResourceVersion(version).
		WithLabels(map[string]string{managedByLabel: managedByUs}).
		WithAnnotations(map[string]string{Marker: c.Name}).
		WithSpec(spec)
}
