// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// ErrorString is what the real library says, not the name of the code.
func (l *library) ErrorString(r nvml.Return) string { return ErrorString(r) }

func (l *library) SystemGetDriverVersion() (v string, ret nvml.Return) {
	ret = l.read("nvmlSystemGetDriverVersion", func(s *sim.State) nvml.Return { v = s.Driver; return nvml.SUCCESS })
	return v, ret
}

// SystemGetNVMLVersion is the CUDA major followed by the driver version.
func (l *library) SystemGetNVMLVersion() (v string, ret nvml.Return) {
	ret = l.read("nvmlSystemGetNVMLVersion", func(s *sim.State) nvml.Return {
		major, _, _ := strings.Cut(s.CUDA, ".")
		v = major + "." + s.Driver
		return nvml.SUCCESS
	})
	return v, ret
}

func (l *library) SystemGetCudaDriverVersion() (v int, ret nvml.Return) {
	return l.cudaVersion("nvmlSystemGetCudaDriverVersion")
}

func (l *library) SystemGetCudaDriverVersion_v2() (v int, ret nvml.Return) {
	return l.cudaVersion("nvmlSystemGetCudaDriverVersion_v2")
}

// cudaVersion is 1000 · major + 10 · minor.
func (l *library) cudaVersion(name string) (v int, ret nvml.Return) {
	ret = l.read(name, func(s *sim.State) nvml.Return {
		major, minor, _ := strings.Cut(s.CUDA, ".")
		x, err := strconv.Atoi(major)
		y, err2 := strconv.Atoi(minor)
		if err != nil || err2 != nil {
			return nvml.ERROR_UNKNOWN
		}
		v = 1000*x + 10*y
		return nvml.SUCCESS
	})
	return v, ret
}
