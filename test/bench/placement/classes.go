// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/controller/classes"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/test/scheduler"
)

// className is what the class of one profile is called in both layouts.
func className(profile string) string {
	return "mig-" + strings.NewReplacer(".", "-", "+", "-").Replace(profile)
}

// upstreamClasses are mig.nvidia.com as the upstream chart has it, and a class
// for each profile as the upstream driver's demos write them.
func upstreamClasses(g mig.Geometry) scheduler.Classes {
	const isMIG = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'"
	out := scheduler.Classes{api.MIGClassName: scheduler.Class(api.MIGClassName, isMIG)}
	for _, p := range g {
		name := className(p.Name)
		out[name] = scheduler.Class(name, isMIG+" && device.attributes['gpu.nvidia.com'].profile == '"+p.Name+"'")
	}
	return out
}

// ourClasses are the same classes as the controller makes them of the policy.
func ourClasses(ctx context.Context, g mig.Geometry) (scheduler.Classes, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{resourceapi.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	policy := everything(g)
	objects := []client.Object{policy}
	for _, o := range policy.Spec.Offers {
		objects = append(objects, &v1alpha1.GPUClass{ObjectMeta: metav1.ObjectMeta{Name: o.ClassNames[0]}})
	}
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.GPUClass{}, &v1alpha1.SharingPolicy{}).Build()
	controller := classes.New(store, store, clock.RealClock{})
	if _, err := controller.Reconcile(ctx, reconcile.Request{}); err != nil {
		return nil, fmt.Errorf("make the classes: %w", err)
	}
	var made resourceapi.DeviceClassList
	if err := store.List(ctx, &made); err != nil {
		return nil, err
	}
	out := scheduler.Classes{}
	for _, c := range made.Items {
		out[c.Name] = &c
	}
	return out, nil
}

// everything is a policy that offers whole GPUs, each profile to a class of its
// own, and all profiles to mig.nvidia.com.
func everything(g mig.Geometry) *v1alpha1.SharingPolicy {
	offers := []v1alpha1.Offer{
		{Name: "whole", ClassNames: []string{api.GPUClassName}, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}},
		partitions(api.MIGClassName, "*"),
	}
	for _, p := range g {
		offers = append(offers, partitions(className(p.Name), p.Name))
	}
	return &v1alpha1.SharingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "inference"}, Spec: v1alpha1.SharingPolicySpec{Offers: offers}}
}

func partitions(class, profile string) v1alpha1.Offer {
	return v1alpha1.Offer{
		Name: class, ClassNames: []string{class},
		Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{
			Source: v1alpha1.MIGOnDemand, Profiles: []string{profile},
		}},
	}
}
