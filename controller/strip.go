// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// stripped has the cache keep of each kind only what is read. What comes from it
// must be written back as a patch between two copies of it, never as an update,
// which would take away for good what was stripped here.
func stripped() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&v1alpha1.GPUClass{}:       {Transform: stripOwn},
		&v1alpha1.SharingPolicy{}:  {Transform: stripOwn},
		&v1alpha1.GPUNode{}:        {Transform: stripReport},
		&resourceapi.DeviceClass{}: {Transform: stripShared},
	}
}

// stripOwn keeps spec and status.
func stripOwn(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
		m.SetOwnerReferences(nil)
		m.SetAnnotations(nil)
		m.SetLabels(nil)
	}
	return o, nil
}

// stripReport keeps of a node's report what it says of policies.
func stripReport(o any) (any, error) {
	if n, ok := o.(*v1alpha1.GPUNode); ok {
		n.Status = v1alpha1.GPUNodeStatus{Policies: n.Status.Policies}
	}
	return stripOwn(o)
}

// stripShared keeps the labels and annotations as well: they say whose it is.
func stripShared(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
		m.SetOwnerReferences(nil)
	}
	return o, nil
}
