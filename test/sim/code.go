// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"strconv"
)

// Code is what a call into the driver library answers. The values are those of
// nvmlReturn_t in NVML's header, so that the adapters convert by a cast.
type Code int32

// The codes the simulated library answers by itself. Faults may answer any other.
const (
	Success         Code = 0
	Uninitialized   Code = 1
	InvalidArgument Code = 2
	NotSupported    Code = 3
	NoPermission    Code = 4
	NotFound        Code = 6
	DriverNotLoaded Code = 9
	Timeout         Code = 10
	GPUIsLost       Code = 15
	ResetRequired   Code = 16
	OperatingSystem Code = 17
	InUse           Code = 19
	Insufficient    Code = 23 // INSUFFICIENT_RESOURCES
	Unknown         Code = 999
)

var codeNames = map[string]Code{
	"SUCCESS": Success, "UNINITIALIZED": Uninitialized, "INVALID_ARGUMENT": InvalidArgument,
	"NOT_SUPPORTED": NotSupported, "NO_PERMISSION": NoPermission, "ALREADY_INITIALIZED": 5,
	"NOT_FOUND": NotFound, "INSUFFICIENT_SIZE": 7, "INSUFFICIENT_POWER": 8,
	"DRIVER_NOT_LOADED": DriverNotLoaded, "TIMEOUT": Timeout, "IRQ_ISSUE": 11,
	"LIBRARY_NOT_FOUND": 12, "FUNCTION_NOT_FOUND": 13, "CORRUPTED_INFOROM": 14,
	"GPU_IS_LOST": GPUIsLost, "RESET_REQUIRED": ResetRequired, "OPERATING_SYSTEM": OperatingSystem,
	"LIB_RM_VERSION_MISMATCH": 18, "IN_USE": InUse, "MEMORY": 20, "NO_DATA": 21,
	"INSUFFICIENT_RESOURCES": Insufficient, "FREQ_NOT_SUPPORTED": 24, "ARGUMENT_VERSION_MISMATCH": 25,
	"DEPRECATED": 26, "NOT_READY": 27, "GPU_NOT_FOUND": 28, "INVALID_STATE": 29, "UNKNOWN": Unknown,
}

// String is the code's name in NVML's header without its NVML_ERROR_ prefix,
// or the number of a code without a name here.
func (c Code) String() string {
	for name, code := range codeNames {
		if code == c {
			return name
		}
	}
	return strconv.Itoa(int(c))
}

// ParseCode reads what String writes, with or without NVML's prefixes
// ("GPU_IS_LOST", "NVML_ERROR_GPU_IS_LOST", "15").
func ParseCode(s string) (Code, error) {
	for _, prefix := range []string{"NVML_ERROR_", "NVML_", "ERROR_", ""} {
		if len(s) > len(prefix) && s[:len(prefix)] == prefix {
			if c, ok := codeNames[s[len(prefix):]]; ok {
				return c, nil
			}
		}
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("return code %q is neither a number nor a name such as GPU_IS_LOST", s)
	}
	return Code(n), nil
}

// MarshalText makes codes readable in faults.json.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (c *Code) UnmarshalText(b []byte) (err error) {
	*c, err = ParseCode(string(b))
	return err
}
