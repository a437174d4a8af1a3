// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

// used are the functions of the library that the product calls, by their names in
// C, as go-nvml resolves them. Setters are in it: they are looked up, not called.
var used = []string{
	"nvmlComputeInstanceDestroy",
	"nvmlComputeInstanceGetInfo_v2",
	"nvmlDeviceCreateGpuInstanceWithPlacement",
	"nvmlDeviceGetAddressingMode",
	"nvmlDeviceGetArchitecture",
	"nvmlDeviceGetAttributes_v2",
	"nvmlDeviceGetBrand",
	"nvmlDeviceGetComputeMode",
	"nvmlDeviceGetComputeRunningProcesses_v3",
	"nvmlDeviceGetCount_v2",
	"nvmlDeviceGetCudaComputeCapability",
	"nvmlDeviceGetGpuInstanceById",
	"nvmlDeviceGetGpuInstancePossiblePlacements_v2",
	"nvmlDeviceGetGpuInstanceProfileInfo",
	"nvmlDeviceGetGpuInstances",
	"nvmlDeviceGetGraphicsRunningProcesses_v3",
	"nvmlDeviceGetHandleByIndex_v2",
	"nvmlDeviceGetHandleByPciBusId_v2",
	"nvmlDeviceGetHandleByUUID",
	"nvmlDeviceGetMPSComputeRunningProcesses_v3",
	"nvmlDeviceGetMaxMigDeviceCount",
	"nvmlDeviceGetMemoryInfo",
	"nvmlDeviceGetMemoryInfo_v2",
	"nvmlDeviceGetMemoryLimits_v1",
	"nvmlDeviceGetMigDeviceHandleByIndex",
	"nvmlDeviceGetMigMode",
	"nvmlDeviceGetMinorNumber",
	"nvmlDeviceGetName",
	"nvmlDeviceGetPciInfo_v3",
	"nvmlDeviceGetSupportedEventTypes",
	"nvmlDeviceGetUUID",
	"nvmlDeviceGetVirtualizationMode",
	"nvmlDeviceRegisterEvents",
	"nvmlDeviceSetComputeMode",
	"nvmlDeviceSetMemoryLimits_v1",
	"nvmlDeviceSetMigMode",
	"nvmlEventSetCreate",
	"nvmlEventSetFree",
	"nvmlEventSetWait_v2",
	"nvmlGpuInstanceCreateComputeInstance",
	"nvmlGpuInstanceDestroy",
	"nvmlGpuInstanceGetComputeInstanceProfileInfo",
	"nvmlGpuInstanceGetComputeInstances",
	"nvmlGpuInstanceGetInfo",
	"nvmlInit_v2",
	"nvmlShutdown",
	"nvmlSystemGetCudaDriverVersion",
	"nvmlSystemGetDriverVersion",
}

// symbols notes which of them the driver's library has.
func (g *gpu) symbols() {
	for _, name := range used {
		g.note("function "+name, g.lib.LookupSymbol(name) == nil)
	}
}
