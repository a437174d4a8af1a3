// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package api

// Names that existing claims, selectors and tools rely on. They are those of
// the upstream NVIDIA DRA driver for GPUs (kubernetes-sigs/dra-driver-nvidia-gpu)
// and must not change.
const (
	// DriverName is the DRA driver that claims, classes and slices name.
	DriverName = "gpu.nvidia.com"
	// GPUClassName is the DeviceClass of whole GPUs.
	GPUClassName = "gpu.nvidia.com"
	// MIGClassName is the DeviceClass of MIG partitions.
	MIGClassName = "mig.nvidia.com"
	// GPUExtendedResource is what a pod writes to get a whole GPU without a claim.
	GPUExtendedResource = "nvidia.com/gpu"

	// TypeGPU is the value of the attribute "type" of a whole GPU.
	TypeGPU = "gpu"
	// TypeMIG is the value of the attribute "type" of a MIG partition.
	TypeMIG = "mig"

	// CDIVendor and CDIClass form the kind of every CDI spec of this driver.
	CDIVendor = "k8s.gpu.nvidia.com"
	CDIClass  = "claim"

	// TaintGPULost marks a GPU that no longer answers.
	TaintGPULost = DriverName + "/gpu-lost"
)

// Names of our own.
const (
	// Group is the API group of our kinds and the domain of our attributes and taints.
	Group = "cotenant.dev"
	// DefaultPolicy owns the GPUs that no other policy owns.
	DefaultPolicy = "default"
	// AttributePolicy is the device attribute that names the owning SharingPolicy.
	AttributePolicy = Group + "/policy"

	// TypeShare is the value of the attribute "type" of a GPU that several claims
	// have at a time.
	TypeShare = "gpu-share"
	// AttributeOffer and AttributeMode of a share name the offer of its policy and
	// how claims share.
	AttributeOffer = Group + "/offer"
	AttributeMode  = Group + "/mode"
	// AttributeMemoryLimit, AttributeComputeLimit and AttributeFaults of a share are
	// the facets of its isolation.
	AttributeMemoryLimit  = Group + "/memoryLimit"
	AttributeComputeLimit = Group + "/computeLimit"
	AttributeFaults       = Group + "/faults"

	// TaintHeld marks a GPU whose records were lost: nobody knows yet whether
	// a container still uses it.
	TaintHeld = Group + "/held"
	// TaintFenced marks a GPU that was released without being reached.
	TaintFenced = Group + "/fenced"
	// TaintRetired marks a device that is no longer offered and stays published
	// until nobody has it.
	TaintRetired = Group + "/retired"
	// TaintBroken marks a share whose MPS control daemon does not serve now.
	TaintBroken = Group + "/broken"
)

// CDIKind is what stands left of "=" in the id of a CDI device of this driver.
const CDIKind = CDIVendor + "/" + CDIClass
