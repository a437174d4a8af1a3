// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPUClass says who may use a class of devices, and how much. Its name is the
// name of the DeviceClass that is made from it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cotenant
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Extended resource",type=string,JSONPath=`.spec.extendedResourceName`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name becomes a DeviceClass and a resource name: at most 63 characters"
// +kubebuilder:validation:XValidation:rule="has(self.spec.extendedResourceName) == has(oldSelf.spec.extendedResourceName)",message="extendedResourceName is immutable: running pods carry this name; make another class",fieldPath=".spec.extendedResourceName"
type GPUClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec GPUClassSpec `json:"spec"`
	// +optional
	Status GPUClassStatus `json:"status,omitempty"`
}

// GPUClassSpec is what the admin wants of a class.
type GPUClassSpec struct {
	// extendedResourceName is what a pod without a claim writes to get one device
	// of this class, for example nvidia.com/gpu.
	//
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="immutable: running pods carry this name; make another class"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('deviceclass.resource.kubernetes.io/')",message="reserved by Kubernetes"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="an extended resource is written domain/name, for example nvidia.com/gpu"
	ExtendedResourceName string `json:"extendedResourceName,omitempty"`

	// access says whose pods and claims may name the class.
	//
	// +required
	Access Access `json:"access"`

	// perNamespaceLimit is how many devices or shares of the class the claims of
	// one namespace may have together. Omitted means no limit.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	PerNamespaceLimit *int32 `json:"perNamespaceLimit,omitempty"`

	// maxDevicesPerClaim bounds how many devices of the class one claim may ask
	// for: the scheduler's search grows steeply with it.
	//
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	MaxDevicesPerClaim int32 `json:"maxDevicesPerClaim,omitempty"`
}

// Access selects namespaces.
type Access struct {
	// namespaceSelector selects the namespaces by their labels; {} is every
	// namespace.
	//
	// +required
	NamespaceSelector LabelSelector `json:"namespaceSelector"`
}

// GPUClassStatus is what became of a class.
type GPUClassStatus struct {
	// observedGeneration is the generation of the spec that this is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Accepted (the class is sound) and Programmed (its
	// DeviceClass is in force).
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GPUClassList is a list of classes.
//
// +kubebuilder:object:root=true
type GPUClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []GPUClass `json:"items"`
}
