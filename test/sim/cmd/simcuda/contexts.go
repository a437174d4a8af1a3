// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/mps"
)

// contexts are what a CUDA program has on devices.
type contexts interface {
	// Allocate takes memory of a device that it has a context on.
	Allocate(uuid string, miB uint64) error
	// Free gives it all back.
	Free(uuid string) error
	// Fault makes a fatal fault.
	Fault() error
	// Lost receives the error that ended all contexts.
	Lost() <-chan sim.CUDAError
	Close() error
}

// opened opens a context on each of the devices: as an MPS client where a daemon
// answers, else by itself. Each device says what it got.
func (h *host) open(name string, devices []device) (contexts, event, error) {
	e := event{Event: "started", PID: os.Getpid(), UID: new(os.Getuid())}
	pipe := orDefault(h.env("CUDA_MPS_PIPE_DIRECTORY"), "/tmp/nvidia-mps")
	conn, err := h.join(pipe, name, devices)
	switch {
	case errors.Is(err, mps.ErrNoDaemon):
		e.Outside = err.Error()
		own, err := h.alone(name, devices)
		return own, e, err
	case err != nil:
		e.Error, e.Message = cudaError(err), err.Error()
		return nil, e, nil
	}
	e.MPS = &mpsClient{conn.Server, pipe}
	for i := range devices {
		grant(&devices[i], conn.Grants)
	}
	return conn, e, nil
}

// join makes this program an MPS client.
func (h *host) join(pipe, name string, devices []device) (*mps.Conn, error) {
	j := mps.Join{Name: name, Cgroups: h.cgroups()}
	for _, d := range devices {
		j.Devices = append(j.Devices, d.UUID)
	}
	var err error
	if j.Limits, err = h.wishes(devices); err != nil {
		return nil, err
	}
	if text := h.env("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"); text != "" {
		if j.ThreadPercentage, err = mps.ParsePercentage(text); err != nil {
			return nil, fmt.Errorf("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: %w", err)
		}
	}
	return mps.Dial(pipe, j)
}

// grant writes what MPS gives of a device. One that the server does not have is
// none that CUDA sees.
func grant(d *device, grants []mps.Grant) {
	i := slices.IndexFunc(grants, func(g mps.Grant) bool { return g.UUID == d.UUID })
	if i < 0 {
		d.Error, d.Message = sim.CUDANoDevice, "the MPS server does not have this device"
		return
	}
	d.LimitMiB, d.ThreadPercentage = grants[i].LimitMiB, grants[i].ThreadPercentage
	// That a part of a multiprocessor is rounded up is not confirmed.
	d.Multiprocessors = int(math.Ceil(float64(d.Multiprocessors) * d.ThreadPercentage / 100))
}

// fail writes an error, nil for none, into the device.
func (d *device) fail(err error) {
	if err != nil {
		d.Error, d.Message = cudaError(err), err.Error()
	}
}

// cudaError is the CUDA error in err, CUDA_ERROR_UNKNOWN for one without.
func cudaError(err error) sim.CUDAError {
	var e sim.CUDAError
	if errors.As(err, &e) {
		return e
	}
	return sim.CUDAUnknown
}
