// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nodes"
)

// host is the machine as this container sees it.
type host struct {
	m   *sim.Machine
	dev nodes.Dev
	env func(string) string
}

func openHost(env func(string) string) (*host, error) {
	h := &host{dev: nodes.Dev(orDefault(env("COTENANT_SIM_DEV"), "/dev")), env: env}
	var err error
	h.m, err = sim.Open(orDefault(env("COTENANT_SIM_STATE"), "/run/cotenant-sim"))
	return h, err
}

// device is one that CUDA sees, and what this program has of it.
type device struct {
	Index           int    `json:"index"`
	UUID            string `json:"uuid"`
	Name            string `json:"name"`
	MemoryMiB       uint64 `json:"memoryMiB"`
	ComputeMode     string `json:"computeMode"`
	Multiprocessors int    `json:"multiprocessors"`
	// ThreadPercentage is the part of the multiprocessors that MPS lets it have.
	ThreadPercentage float64 `json:"activeThreadPercentage"`
	// LimitMiB is MPS's limit of memory, CgroupLimitMiB that of the control group;
	// 0 for none.
	LimitMiB       uint64 `json:"limitMiB"`
	CgroupLimitMiB uint64 `json:"cgroupLimitMiB"`
	AllocatedMiB   uint64 `json:"allocatedMiB"`
	// Error is a CUDA error's name, and Message why.
	Error   sim.CUDAError `json:"error,omitempty"`
	Message string        `json:"message,omitempty"`
}

// devices are those that CUDA sees, in its order.
func (h *host) devices(s sim.State) []device {
	var out []device
	if !h.dev.Control() {
		return nil
	}
	for _, uuid := range h.opened(s) {
		d, err := s.Device(uuid)
		if err != nil {
			continue // lost
		}
		p, err := sim.LookupProduct(d.GPU.Product)
		if err != nil {
			continue
		}
		out = append(out, device{
			UUID: uuid, Name: p.Name, MemoryMiB: d.MemoryMiB, ComputeMode: computeMode(d.ComputeMode),
			Multiprocessors: d.Multiprocessors, ThreadPercentage: 100, CgroupLimitMiB: h.cgroupLimit(d),
		})
	}
	out = chosen(out, h.env("CUDA_VISIBLE_DEVICES"))
	for i := range out {
		out[i].Index = i
	}
	return out
}

// opened are the UUIDs of the devices whose nodes may be opened: GPUs, and of
// those with MIG on their MIG devices.
func (h *host) opened(s sim.State) []string {
	var out []string
	for _, g := range s.GPUs {
		switch {
		case !h.dev.GPU(g):
		case !g.MIG.Current:
			out = append(out, g.UUID)
		default:
			for _, gi := range g.GIs {
				for _, ci := range gi.CIs {
					if h.dev.MIG(g, gi, ci) {
						out = append(out, ci.UUID)
					}
				}
			}
		}
	}
	return out
}

// chosen are the devices of CUDA_VISIBLE_DEVICES, by index or the beginning of a
// UUID, up to the first that is none (CUDA C++ Programming Guide, "CUDA
// Environment Variables"). All are when it is empty.
func chosen(all []device, visible string) []device {
	if visible == "" {
		return all
	}
	var out []device
	for word := range strings.SplitSeq(visible, ",") {
		word = strings.TrimSpace(word)
		at, err := strconv.Atoi(word)
		if err != nil {
			at = slices.IndexFunc(all, func(d device) bool { return word != "" && strings.HasPrefix(d.UUID, word) })
		}
		if at < 0 || at >= len(all) {
			break
		}
		out = append(out, all[at])
	}
	return out
}

// computeMode is the mode by its name in nvidia-smi -c.
func computeMode(mode int) string {
	switch mode {
	case sim.ComputeProhibited:
		return "PROHIBITED"
	case sim.ComputeExclusiveProcess:
		return "EXCLUSIVE_PROCESS"
	}
	return "DEFAULT"
}

// wishes are the limits that this program's own environment asks MPS for, in MiB
// by UUID: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT is a list of DEVICE=SIZE, where the
// device is an index or a UUID.
func (h *host) wishes(devices []device) (map[string]uint64, error) {
	out := map[string]uint64{}
	for _, word := range strings.FieldsFunc(h.env("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), func(r rune) bool { return r == ',' }) {
		name, size, _ := strings.Cut(strings.TrimSpace(word), "=")
		miB, err := parseLimit(size)
		if err != nil {
			return nil, fmt.Errorf("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT %q: %w", word, err)
		}
		for _, d := range devices {
			if name == d.UUID || name == strconv.Itoa(d.Index) {
				out[d.UUID] = miB
			}
		}
	}
	return out, nil
}

func orDefault(v, def string) string {
	if v == "" {
		return def
	}
	return v
}
