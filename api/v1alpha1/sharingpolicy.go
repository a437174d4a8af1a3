// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SharingPolicy says what the GPUs of some nodes may become.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cotenant
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodesMatched`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name is published as a device attribute: at most 63 characters"
type SharingPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec SharingPolicySpec `json:"spec"`
	// +optional
	Status SharingPolicyStatus `json:"status,omitempty"`
}

// SharingPolicySpec is what the admin wants of these GPUs.
type SharingPolicySpec struct {
	// priority decides between policies that match the same GPU: the highest
	// wins, then the oldest policy, then the first by name.
	//
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	Priority int32 `json:"priority,omitempty"`

	// nodeSelector selects nodes by their labels; {} is every node.
	//
	// +required
	NodeSelector LabelSelector `json:"nodeSelector"`

	// gpuSelector selects some of the GPUs of these nodes. Omitted means all.
	//
	// +optional
	GPUSelector *GPUSelector `json:"gpuSelector,omitempty"`

	// offers are what such a GPU may become. Which of them it is at a time is
	// decided by the claims that land on it.
	//
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Offers []Offer `json:"offers"`
}

// GPUSelector selects GPUs.
type GPUSelector struct {
	// cel selects by a CEL expression, as in resource.k8s.io.
	//
	// +required
	CEL CELSelector `json:"cel"`
}

// CELSelector is a CEL expression over a device.
type CELSelector struct {
	// expression is true for the GPUs that are meant. The variable "device" is
	// the whole GPU as published. Read attributes with .?name.orValue(…): an
	// attribute that a GPU lacks is an error otherwise.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Expression string `json:"expression"`
}

// Offer is one thing that a policy makes of a GPU.
//
// +kubebuilder:validation:XValidation:rule="!has(self.sharing) || self.device.type == 'GPU'",message="shares across claims are of whole GPUs",fieldPath=".sharing"
// +kubebuilder:validation:XValidation:rule="!has(self.requires) || !has(self.sharing) || !('FaultIsolation' in self.requires)",message="sharers always share faults: FaultIsolation needs an unshared device",fieldPath=".requires"
type Offer struct {
	// name identifies the offer in its policy; shares carry it in their device
	// name.
	//
	// +required
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// classNames are the classes that may have the offer.
	//
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	ClassNames []string `json:"classNames"`

	// device says what it is: a whole GPU or a MIG partition.
	//
	// +required
	Device OfferDevice `json:"device"`

	// sharing lets several claims have the device at a time, in equal shares.
	//
	// +optional
	Sharing *OfferSharing `json:"sharing,omitempty"`

	// requires are the kinds of isolation without which the offer is not
	// published.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	Requires []Isolation `json:"requires,omitempty"`
}

// DeviceType is what an offer is made of.
//
// +kubebuilder:validation:Enum=GPU;MIG
type DeviceType string

// The types of devices.
const (
	DeviceGPU DeviceType = "GPU"
	DeviceMIG DeviceType = "MIG"
)

// OfferDevice is a discriminated union by its type.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'MIG') == has(self.mig)",message="mig is required for type MIG and forbidden otherwise",fieldPath=".mig"
// +kubebuilder:validation:XValidation:rule="!has(self.mig) || (self.mig.source == 'OnDemand') == has(self.mig.profiles)",message="profiles: required for OnDemand, forbidden for Existing",fieldPath=".mig.profiles"
type OfferDevice struct {
	// type is GPU or MIG.
	//
	// +required
	Type DeviceType `json:"type"`

	// mig says which partitions.
	//
	// +optional
	MIG *OfferMIG `json:"mig,omitempty"`
}

// MIGSource says where partitions come from.
//
// +kubebuilder:validation:Enum=OnDemand;Existing
type MIGSource string

// The sources of partitions.
const (
	// MIGOnDemand partitions are made for a claim and destroyed after it.
	MIGOnDemand MIGSource = "OnDemand"
	// MIGExisting partitions are those that are there, whoever made them.
	MIGExisting MIGSource = "Existing"
)

// OfferMIG says which partitions.
type OfferMIG struct {
	// source is OnDemand or Existing.
	//
	// +required
	Source MIGSource `json:"source"`

	// profiles are the MIG profiles to offer, as nvidia-smi names them
	// ("1g.10gb"); "*" is all of them.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=32
	Profiles []string `json:"profiles,omitempty"`
}

// SharingMode is how claims share a GPU.
//
// +kubebuilder:validation:Enum=TimeSlicing;MPS
type SharingMode string

// The modes of sharing.
const (
	TimeSlicing SharingMode = "TimeSlicing"
	// MPS runs the processes of all sharers under one server: one trust domain.
	// Limits hold per process, /dev/shm is shared, and a fault of one ends all.
	MPS SharingMode = "MPS"
)

// OfferSharing is a discriminated union by its mode.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeSlicing) || self.mode == 'TimeSlicing'",message="timeSlicing only with mode TimeSlicing",fieldPath=".timeSlicing"
// +kubebuilder:validation:XValidation:rule="!has(self.mps) || self.mode == 'MPS'",message="mps only with mode MPS",fieldPath=".mps"
type OfferSharing struct {
	// mode is TimeSlicing or MPS. The namespaces that may use an MPS offer are
	// one trust domain.
	//
	// +required
	Mode SharingMode `json:"mode"`

	// shares is into how many equal shares the GPU is divided; a claim takes one.
	// Linux has MPS serve at most 48 clients a GPU.
	//
	// +required
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=48
	Shares int32 `json:"shares"`

	// memoryPerShare is how much of the GPU's memory each share has. Omitted, it
	// is divided equally, less one 32nd of it for what the driver itself needs.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi)$`
	MemoryPerShare string `json:"memoryPerShare,omitempty"`

	// timeSlicing has the settings of mode TimeSlicing.
	//
	// +optional
	TimeSlicing *TimeSlicingSettings `json:"timeSlicing,omitempty"`

	// mps has the settings of mode MPS.
	//
	// +optional
	MPS *MPSSettings `json:"mps,omitempty"`
}

// TimeSlicingSettings are those of mode TimeSlicing.
type TimeSlicingSettings struct {
	// interval is how long a sharer runs before the next one does.
	//
	// +optional
	// +kubebuilder:default=Default
	// +kubebuilder:validation:Enum=Default;Short;Medium;Long
	Interval string `json:"interval,omitempty"`
}

// MPSSettings are those of mode MPS.
type MPSSettings struct {
	// activeThreadPercentage is the part of the multiprocessors that each process
	// of a share may use. Omitted, they are divided equally; 100 is no limit.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	ActiveThreadPercentage *int32 `json:"activeThreadPercentage,omitempty"`
}

// Isolation is one thing that keeps sharers apart.
//
// +kubebuilder:validation:Enum=MemoryLimit;ComputeLimit;FaultIsolation
type Isolation string

// The kinds of isolation.
const (
	// IsolationMemoryLimit: no holder uses more memory than it has.
	IsolationMemoryLimit Isolation = "MemoryLimit"
	// IsolationComputeLimit: no holder uses more multiprocessors than it has.
	IsolationComputeLimit Isolation = "ComputeLimit"
	// IsolationFaultIsolation: a fault of one holder ends no other.
	IsolationFaultIsolation Isolation = "FaultIsolation"
)

// SharingPolicyStatus is what became of a policy. It has nothing that follows
// load: every node plugin watches policies.
type SharingPolicyStatus struct {
	// observedGeneration is the generation of the spec that this is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// nodesMatched is how many nodes the policy selects.
	//
	// +optional
	NodesMatched int32 `json:"nodesMatched,omitempty"`

	// nodesLost is on how many of them another policy owns every GPU.
	//
	// +optional
	NodesLost int32 `json:"nodesLost,omitempty"`

	// conditions are Accepted (the policy is sound, its classes exist) and
	// Programmed (its offers are in the DeviceClasses).
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SharingPolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type SharingPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SharingPolicy `json:"items"`
}
