// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// object is one default, with the key that it has in the record.
type object struct {
	key   string
	value client.Object
}

// priority of the default policy: behind whatever an admin writes.
const priority = -1000

// objects are the defaults, in the order in which they are created: the classes
// before the policy that names them. They are what existing claims and pods of
// the upstream driver use.
func objects() []object {
	gpu, mig, policy := &v1alpha1.GPUClass{}, &v1alpha1.GPUClass{}, &v1alpha1.SharingPolicy{}
	gpu.Name = api.GPUClassName
	gpu.Spec.ExtendedResourceName = api.GPUExtendedResource
	mig.Name = api.MIGClassName
	policy.Name = api.DefaultPolicy
	policy.Spec.Priority = priority
	policy.Spec.Offers = []v1alpha1.Offer{
		{Name: "whole", ClassNames: []string{api.GPUClassName}, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}},
		{Name: "mig", ClassNames: []string{api.MIGClassName}, Device: v1alpha1.OfferDevice{
			Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGExisting}}},
	}
	return []object{
		{key: "GPUClass." + gpu.Name, value: gpu},
		{key: "GPUClass." + mig.Name, value: mig},
		{key: "SharingPolicy." + policy.Name, value: policy},
	}
}
