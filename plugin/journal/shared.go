// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// storedShared are the settings of a shared slot. Memory is in MiB.
type storedShared struct {
	Offer         string `json:"offer"`
	Mode          string `json:"mode"`
	Shares        int    `json:"shares"`
	MemoryMiB     int64  `json:"memoryMiB,omitempty"`
	ActiveThreads int    `json:"activeThreads,omitempty"`
	Interval      string `json:"interval,omitempty"`
	Memory        string `json:"memoryLimit"`
}

// storedMode and storedTurns are settings of a GPU. Slot is the shared slot whose
// they are, "" for a claim that has the GPU alone.
type storedMode struct {
	Slot    string `json:"slot,omitempty"`
	Address string `json:"address"`
	Mode    string `json:"mode,omitempty"`
}

type storedTurns struct {
	Slot     string `json:"slot,omitempty"`
	Address  string `json:"address"`
	UUID     string `json:"uuid"`
	Interval string `json:"interval,omitempty"`
}

type storedMPS struct {
	Slot          string                 `json:"slot,omitempty"`
	Daemon        string                 `json:"daemon"`
	Devices       []storedServed         `json:"devices"`
	ActiveThreads *int                   `json:"activeThreads,omitempty"`
	Memory        *storedLimit           `json:"memory,omitempty"`
	PerDevice     map[string]storedLimit `json:"perDevice,omitempty"`
	MultiUser     bool                   `json:"multiUser,omitempty"`
}

type storedServed struct {
	Address   string `json:"address"`
	UUID      string `json:"uuid"`
	Slot      string `json:"slot,omitempty"`
	MemoryMiB int64  `json:"memoryMiB,omitempty"`
}

type storedLimit struct {
	MiB      int64  `json:"mib"`
	Quantity string `json:"quantity"`
}

func encodeShared(s *sharing.Shared) *storedShared {
	if s == nil {
		return nil
	}
	return &storedShared{
		Offer: s.Offer, Mode: string(s.Mode), Shares: s.Shares, MemoryMiB: s.MemoryMiB,
		ActiveThreads: s.ActiveThreads, Interval: string(s.Interval), Memory: string(s.Memory),
	}
}

func (s *storedShared) decode() *sharing.Shared {
	if s == nil {
		return nil
	}
	return &sharing.Shared{
		Offer: s.Offer, Mode: v1alpha1.SharingMode(s.Mode), Shares: s.Shares, MemoryMiB: s.MemoryMiB,
		ActiveThreads: s.ActiveThreads, Interval: nvidia.Interval(s.Interval), Memory: sharing.MemoryLimit(s.Memory),
	}
}

func encodeMPS(s sharing.StartMPS) *storedMPS {
	out := &storedMPS{Slot: s.Slot, Daemon: s.Daemon, ActiveThreads: s.Limits.ActiveThreads, MultiUser: s.Limits.MultiUser}
	for _, d := range s.Devices {
		out.Devices = append(out.Devices, storedServed(d))
	}
	if s.Limits.Memory != nil {
		out.Memory = new(storedLimit(*s.Limits.Memory))
	}
	for key, l := range s.Limits.PerDevice {
		if out.PerDevice == nil {
			out.PerDevice = map[string]storedLimit{}
		}
		out.PerDevice[key] = storedLimit(l)
	}
	return out
}

func (s *storedMPS) decode() sharing.StartMPS {
	out := sharing.StartMPS{Slot: s.Slot, Daemon: s.Daemon, Limits: nvidia.MPS{ActiveThreads: s.ActiveThreads, MultiUser: s.MultiUser}}
	for _, d := range s.Devices {
		out.Devices = append(out.Devices, sharing.Served(d))
	}
	if s.Memory != nil {
		out.Limits.Memory = new(nvidia.Limit(*s.Memory))
	}
	for key, l := range s.PerDevice {
		if out.Limits.PerDevice == nil {
			out.Limits.PerDevice = map[string]nvidia.Limit{}
		}
		out.Limits.PerDevice[key] = nvidia.Limit(l)
	}
	return out
}
