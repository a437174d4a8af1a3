// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPUNode is what the plugin of the node of the same name says about its GPUs.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cotenant
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="GPUs",type=integer,JSONPath=`.status.gpuCount`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.status.publication.mode`
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.status.driverVersion`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GPUNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status GPUNodeStatus `json:"status,omitempty"`
}

// GPUNodeStatus is the plugin's report. It is written when it changed, and by
// nobody else.
type GPUNodeStatus struct {
	// driverVersion is the NVIDIA driver's, "570.86.15".
	//
	// +optional
	DriverVersion string `json:"driverVersion,omitempty"`

	// publication says what of the GPUs can be published on this cluster.
	//
	// +optional
	Publication Publication `json:"publication,omitempty"`

	// sharing says what there is for sharing GPUs between claims.
	//
	// +optional
	Sharing NodeSharing `json:"sharing,omitempty"`

	// policies are the SharingPolicies that select this node.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Policies []NodePolicy `json:"policies,omitempty"`

	// gpuCount is the number of gpus.
	//
	// +optional
	GPUCount int32 `json:"gpuCount,omitempty"`

	// gpus are the GPUs of the node.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	GPUs []NodeGPU `json:"gpus,omitempty"`
}

// PublicationMode is how much can be published.
//
// +kubebuilder:validation:Enum=Full;Static;None
type PublicationMode string

// The modes of publication.
const (
	// PublicationFull: GPUs, and partitions that are made on demand.
	PublicationFull PublicationMode = "Full"
	// PublicationStatic: whole GPUs, and the MIG instances that are there.
	PublicationStatic PublicationMode = "Static"
	// PublicationNone: nothing, since somebody else hands out the GPUs.
	PublicationNone PublicationMode = "None"
)

// Publication says what can be published.
type Publication struct {
	// mode is Full, Static or None.
	//
	// +optional
	Mode PublicationMode `json:"mode,omitempty"`

	// reason says why the mode is not Full.
	//
	// +optional
	Reason string `json:"reason,omitempty"`
}

// NodeSharing says what a node has for sharing GPUs between claims.
type NodeSharing struct {
	// unavailable is why no shares can be published on this cluster; empty when they
	// can.
	//
	// +optional
	Unavailable string `json:"unavailable,omitempty"`

	// mps is the supervisor of MPS control daemons.
	//
	// +optional
	MPS NodeMPS `json:"mps,omitempty"`

	// memoryLimitsUnavailable is why the driver cannot limit the memory of a container
	// on this node; empty when it can, where the GPU can.
	//
	// +optional
	MemoryLimitsUnavailable string `json:"memoryLimitsUnavailable,omitempty"`
}

// NodeMPS is the supervisor of a node's MPS control daemons.
type NodeMPS struct {
	// version is that of cotenant-mps.
	//
	// +optional
	Version string `json:"version,omitempty"`

	// unavailable is why no daemon can be run; empty when they can.
	//
	// +optional
	Unavailable string `json:"unavailable,omitempty"`
}

// NodePolicy is a SharingPolicy as one node sees it.
type NodePolicy struct {
	// name is the policy's.
	//
	// +required
	Name string `json:"name"`

	// gpusOwned is how many GPUs of the node are under it.
	//
	// +optional
	GPUsOwned int32 `json:"gpusOwned,omitempty"`

	// gpusOutranked is how many GPUs it selects that are under another policy.
	//
	// +optional
	GPUsOutranked int32 `json:"gpusOutranked,omitempty"`

	// error says why its gpuSelector could not be evaluated on a GPU of the node.
	//
	// +optional
	Error string `json:"error,omitempty"`
}

// NodeGPU is one GPU.
type NodeGPU struct {
	// name is the device name, "gpu-0".
	//
	// +required
	Name string `json:"name"`

	// uuid is NVML's.
	//
	// +optional
	UUID string `json:"uuid,omitempty"`

	// pciBusID is its PCI address.
	//
	// +optional
	PCIBusID string `json:"pciBusID,omitempty"`

	// product is its name as NVML reports it.
	//
	// +optional
	Product string `json:"product,omitempty"`

	// policy is the SharingPolicy that owns it.
	//
	// +optional
	Policy string `json:"policy,omitempty"`

	// condition is Ready, Lost, Held or Fenced.
	//
	// +optional
	Condition string `json:"condition,omitempty"`

	// message says why the condition is not Ready, or why the GPU is not handed
	// out whole.
	//
	// +optional
	Message string `json:"message,omitempty"`

	// migMode is "FollowsClaims" where the mode changes without a reset of the GPU.
	// Elsewhere it is "Enabled" or "Disabled", with a pending change as "Disabled,
	// Enabled after a reset". It is empty when the GPU cannot be partitioned.
	//
	// +optional
	MIGMode string `json:"migMode,omitempty"`

	// withheld are the offers of the owner that this GPU does not publish.
	//
	// +optional
	// +listType=atomic
	Withheld []WithheldOffer `json:"withheld,omitempty"`

	// shares are the devices that several claims have at a time.
	//
	// +optional
	// +listType=map
	// +listMapKey=device
	Shares []NodeShares `json:"shares,omitempty"`

	// retiring are devices that are no longer offered and stay published until
	// nobody has them.
	//
	// +optional
	// +listType=set
	Retiring []string `json:"retiring,omitempty"`

	// instances are MIG instances that this driver did not make.
	//
	// +optional
	// +listType=atomic
	Instances []ForeignInstance `json:"instances,omitempty"`

	// holds are the claims that have a device of the GPU.
	//
	// +optional
	// +listType=atomic
	Holds []NodeHold `json:"holds,omitempty"`
}

// NodeShares is a device that several claims have at a time, with what isolates
// them from each other.
type NodeShares struct {
	// device is its name.
	//
	// +required
	Device string `json:"device"`
	// offer is the policy's offer that it is from.
	//
	// +required
	Offer string `json:"offer"`
	// mode is TimeSlicing or MPS.
	//
	// +required
	Mode SharingMode `json:"mode"`
	// shares is how many there are.
	//
	// +required
	Shares int32 `json:"shares"`
	// memoryPerShareMiB is the memory of each, in MiB.
	//
	// +optional
	MemoryPerShareMiB int64 `json:"memoryPerShareMiB,omitempty"`
	// activeThreadPercentage is the part of the multiprocessors that each process of a
	// share may use; in mode MPS.
	//
	// +optional
	ActiveThreadPercentage int32 `json:"activeThreadPercentage,omitempty"`
	// interval is the time-slice interval; empty where it is left alone.
	//
	// +optional
	Interval string `json:"interval,omitempty"`
	// memoryLimit is what keeps a share to its memory: none, process (each process of
	// it), or container (each container).
	//
	// +required
	MemoryLimit string `json:"memoryLimit"`
	// computeLimit is what keeps a share to its multiprocessors: none, or ceiling.
	//
	// +required
	ComputeLimit string `json:"computeLimit"`
	// faults says whose faults a share suffers from: shared is those of all.
	//
	// +required
	Faults string `json:"faults"`
	// broken is why its MPS control daemon does not serve now; empty when it does, or
	// when nobody has a share.
	//
	// +optional
	Broken string `json:"broken,omitempty"`
	// restarts is how often its MPS control daemon was started anew while there were
	// holders. Every time they lost their CUDA context.
	//
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
}

// WithheldOffer is an offer that is not published, and why.
type WithheldOffer struct {
	// +required
	Offer string `json:"offer"`
	// +required
	Reason string `json:"reason"`
}

// ForeignInstance is a MIG instance that somebody else made.
type ForeignInstance struct {
	// profile is "1g.10gb".
	//
	// +required
	Profile string `json:"profile"`
	// start is its first memory slice.
	//
	// +optional
	Start int32 `json:"start"`
	// uuid is that of its compute instance, if it has one that takes all of it.
	//
	// +optional
	UUID string `json:"uuid,omitempty"`
	// inUse: processes run on it that no claim accounts for.
	//
	// +optional
	InUse bool `json:"inUse,omitempty"`
}

// NodeHold is a claim that has a device.
type NodeHold struct {
	// device is the device's name.
	//
	// +required
	Device string `json:"device"`
	// +required
	Namespace string `json:"namespace"`
	// claim is the ResourceClaim's name.
	//
	// +required
	Claim string `json:"claim"`
	// claimUID tells it from another of that name.
	//
	// +required
	ClaimUID string `json:"claimUID"`
	// admin: it sees the device and keeps nobody away.
	//
	// +optional
	Admin bool `json:"admin,omitempty"`
}

// GPUNodeList is a list of nodes.
//
// +kubebuilder:object:root=true
type GPUNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []GPUNode `json:"items"`
}
