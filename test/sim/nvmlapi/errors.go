// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// ErrorString is how the library words a code to a person. The words follow
// what tools print for it ("Unknown Error", "GPU is lost"), see NVIDIA's manual
// for nvmlErrorString and nvmlReturn_t.
func ErrorString(r nvml.Return) string {
	words := map[nvml.Return]string{
		nvml.SUCCESS:                         "Success",
		nvml.ERROR_UNINITIALIZED:             "Uninitialized",
		nvml.ERROR_INVALID_ARGUMENT:          "Invalid Argument",
		nvml.ERROR_NOT_SUPPORTED:             "Not Supported",
		nvml.ERROR_NO_PERMISSION:             "Insufficient Permissions",
		nvml.ERROR_ALREADY_INITIALIZED:       "Already Initialized",
		nvml.ERROR_NOT_FOUND:                 "Not Found",
		nvml.ERROR_INSUFFICIENT_SIZE:         "Insufficient Size",
		nvml.ERROR_INSUFFICIENT_POWER:        "Insufficient External Power",
		nvml.ERROR_DRIVER_NOT_LOADED:         "Driver Not Loaded",
		nvml.ERROR_TIMEOUT:                   "Timeout",
		nvml.ERROR_IRQ_ISSUE:                 "Interrupt Request Issue",
		nvml.ERROR_LIBRARY_NOT_FOUND:         "NVML Shared Library Not Found",
		nvml.ERROR_FUNCTION_NOT_FOUND:        "Function Not Found",
		nvml.ERROR_CORRUPTED_INFOROM:         "Corrupted infoROM",
		nvml.ERROR_GPU_IS_LOST:               "GPU is lost",
		nvml.ERROR_RESET_REQUIRED:            "GPU requires restart",
		nvml.ERROR_OPERATING_SYSTEM:          "The operating system has blocked the request.",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH:   "RM has detected an NVML/RM version mismatch.",
		nvml.ERROR_IN_USE:                    "In use by another client",
		nvml.ERROR_MEMORY:                    "Insufficient Memory",
		nvml.ERROR_NO_DATA:                   "No data",
		nvml.ERROR_INSUFFICIENT_RESOURCES:    "Insufficient Resources",
		nvml.ERROR_ARGUMENT_VERSION_MISMATCH: "Version mismatch of the argument",
		nvml.ERROR_UNKNOWN:                   "Unknown Error",
	}
	if s, ok := words[r]; ok {
		return s
	}
	return fmt.Sprintf("Unknown Error (%d)", int32(r))
}
