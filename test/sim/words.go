// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// words are what the library and nvidia-smi call a code to a person ("Unknown
// Error", "GPU is lost"), see NVIDIA's manual for nvmlErrorString and nvmlReturn_t.
var words = map[Code]string{
	Success:         "Success",
	Uninitialized:   "Uninitialized",
	InvalidArgument: "Invalid Argument",
	NotSupported:    "Not Supported",
	NoPermission:    "Insufficient Permissions",
	5:               "Already Initialized",
	NotFound:        "Not Found",
	7:               "Insufficient Size",
	8:               "Insufficient External Power",
	DriverNotLoaded: "Driver Not Loaded",
	Timeout:         "Timeout",
	11:              "Interrupt Request Issue",
	12:              "NVML Shared Library Not Found",
	13:              "Function Not Found",
	14:              "Corrupted infoROM",
	GPUIsLost:       "GPU is lost",
	ResetRequired:   "GPU requires restart",
	OperatingSystem: "The operating system has blocked the request.",
	18:              "RM has detected an NVML/RM version mismatch.",
	InUse:           "In use by another client",
	20:              "Insufficient Memory",
	21:              "No data",
	Insufficient:    "Insufficient Resources",
	25:              "Version mismatch of the argument",
	Unknown:         "Unknown Error",
}

// Words is what the library calls the code to a person.
func (c Code) Words() string {
	if s, ok := words[c]; ok {
		return s
	}
	return fmt.Sprintf("Unknown Error (%d)", int32(c))
}
