// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cotenant-dev/cotenant/api"
)

// Version is the version of this package's kinds.
const Version = "v1alpha1"

// GroupVersion returns the group and version of this package's kinds.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: api.Group, Version: Version}
}

// AddToScheme adds this package's kinds to the scheme.
func AddToScheme(s *runtime.Scheme) error {
	gv := GroupVersion()
	s.AddKnownTypes(gv, &GPUClass{}, &GPUClassList{}, &SharingPolicy{}, &SharingPolicyList{}, &GPUNode{}, &GPUNodeList{})
	metav1.AddToGroupVersion(s, gv)
	return nil
}
