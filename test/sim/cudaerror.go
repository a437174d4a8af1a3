// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

// CUDAError is an error of the CUDA driver, by its name in NVIDIA's cuda.h.
type CUDAError string

func (e CUDAError) Error() string { return string(e) }

// The errors that clients of the machine meet.
const (
	CUDAInvalidValue       CUDAError = "CUDA_ERROR_INVALID_VALUE"
	CUDAOutOfMemory        CUDAError = "CUDA_ERROR_OUT_OF_MEMORY"
	CUDADeviceUnavailable  CUDAError = "CUDA_ERROR_DEVICE_UNAVAILABLE"
	CUDANoDevice           CUDAError = "CUDA_ERROR_NO_DEVICE"
	CUDALaunchFailed       CUDAError = "CUDA_ERROR_LAUNCH_FAILED"
	CUDAConnectionFailed   CUDAError = "CUDA_ERROR_MPS_CONNECTION_FAILED"
	CUDARPCFailure         CUDAError = "CUDA_ERROR_MPS_RPC_FAILURE"
	CUDAServerNotReady     CUDAError = "CUDA_ERROR_MPS_SERVER_NOT_READY"
	CUDAMaxClients         CUDAError = "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"
	CUDAClientTerminated   CUDAError = "CUDA_ERROR_MPS_CLIENT_TERMINATED"
	CUDAUnknown            CUDAError = "CUDA_ERROR_UNKNOWN"
	CUDAContextIsDestroyed CUDAError = "CUDA_ERROR_CONTEXT_IS_DESTROYED"
)
