// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// gpu is one GPU while it is asked, and what it said.
type gpu struct {
	answers
	lib   readonly.Library
	dev   readonly.Device
	index int
	// product is what was learnt of the model; address is that of the PCI bus as
	// Linux writes it; on is MIG mode.
	product sim.Product
	address string
	on      bool
	parts   []part
}

// part is a GPU instance that is there, as another machine would have to make it.
type part struct {
	profile, start int
	filled         bool // by one compute instance that has all of it
}

// look asks one GPU everything. It is an error when there is no handle to it.
func look(lib readonly.Library, index int) (*gpu, error) {
	dev, ret := lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("nvmlDeviceGetHandleByIndex(%d) says %v; see nvidia-smi and the kernel's log", index, ret)
	}
	g := &gpu{answers: newAnswers(), lib: lib, dev: dev, index: index}
	for _, ask := range []func(){g.symbols, g.model, g.memory, g.pci, g.handles, g.modes, g.errors, g.processes, g.profiles, g.noProfiles, g.instances, g.migDevices} {
		ask()
	}
	return g, nil
}

// call puts one question. f asks, with a function that some drivers lack; what it
// returns is the answer, and where it is not SUCCESS the code. The result tells
// whether it was.
func (g *gpu) call(question, symbol string, f func() (any, nvml.Return)) bool {
	if g.lib.LookupSymbol(symbol) != nil {
		g.note(question, "there is no "+symbol)
		return false
	}
	answer, ret := f()
	if ret != nvml.SUCCESS {
		g.note(question, ret)
		return false
	}
	g.note(question, answer)
	return true
}

// succeeded is the answer where the value itself says nothing about the model.
const succeeded = "a value"

// value asks for something that differs from machine to machine.
func value[T any](f func() (T, nvml.Return)) func() (any, nvml.Return) {
	return func() (any, nvml.Return) {
		_, ret := f()
		return succeeded, ret
	}
}

// plain asks for something that is the same on every machine.
func plain[T any](f func() (T, nvml.Return)) func() (any, nvml.Return) {
	return func() (any, nvml.Return) {
		v, ret := f()
		return v, ret
	}
}
