// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdiapi "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// sharer is a claim with a share of GPU 0 in the way it is shared, and GPU 1 alone.
func (n *node) sharer(s sharing.Shared, daemon string) (sharing.WriteSpec, sharing.Facts) {
	slot := sharing.ShareName("gpu-0", s)
	step := sharing.WriteSpec{Claim: claim, Devices: []sharing.SpecDevice{
		{Name: claim + "-" + slot, Address: n.gpu(0).PCI, UUID: n.gpu(0).UUID, Slot: slot, Shared: &s, MemoryMiB: 81559, Daemon: daemon},
		{Name: claim + "-gpu-1", Address: n.gpu(1).PCI, UUID: n.gpu(1).UUID, Daemon: claim},
	}}
	var rec sharing.Record
	rec.Learn(sharing.WasComputeMode(n.gpu(0).PCI, sharing.ComputeProhibited))
	rec.Learn(sharing.WasInterval(n.gpu(0).PCI, nvidia.Medium))
	rec.Learn(sharing.WasComputeMode(n.gpu(1).PCI, sharing.ComputeDefault))
	return step, rec.Facts
}

var (
	quarter = sharing.Shared{Offer: "quarter", Mode: v1alpha1.MPS, Shares: 4, MemoryMiB: 19752, ActiveThreads: 25, Memory: sharing.MemoryPerProcess}
	limited = sharing.Shared{Offer: "eighth", Mode: v1alpha1.TimeSlicing, Shares: 8, MemoryMiB: 9876, Interval: nvidia.Short, Memory: sharing.MemoryPerContainer}
)

// The file alone tells what was changed for its claim, and how it was before.
func TestSpecTellsWhatWasChanged(t *testing.T) {
	n := newNode(t, "H100-80", "H100-80")
	n.cfg.MPSRoot = "/run/cotenant/mps"
	s := n.specs()
	for _, shared := range []sharing.Shared{quarter, limited} {
		daemon := ""
		if shared.Mode == v1alpha1.MPS {
			daemon = sharing.ShareName("gpu-0", shared)
		}
		step, facts := n.sharer(shared, daemon)
		ok(t, s.Write(t.Context(), step, facts))
		got, err := s.Trace(claim)
		ok(t, err)
		prohibited, before, medium := sharing.ComputeProhibited, sharing.ComputeDefault, nvidia.Medium
		same(t, "trace", got, sharing.Trace{Changed: []sharing.Changed{
			{Setting: sharing.Setting{Slot: step.Devices[0].Slot, Address: n.gpu(0).PCI}, UUID: n.gpu(0).UUID, Shared: &shared, Daemon: daemon, ComputeMode: &prohibited, Interval: &medium},
			{Setting: sharing.Setting{Address: n.gpu(1).PCI}, UUID: n.gpu(1).UUID, Daemon: claim, ComputeMode: &before},
		}})
		same(t, "facts of the trace", got.Facts(), facts)
		ok(t, s.Remove(claim))
	}
}

// A later release may write more into the annotations; one that cannot be read is an
// error that names the file.
func TestTraceOfOthers(t *testing.T) {
	n := newNode(t, "H100-80", "H100-80")
	s := n.specs()
	step, facts := n.sharer(limited, "")
	ok(t, s.Write(t.Context(), step, facts))
	path := filepath.Join(n.cfg.Dir, "k8s.gpu.nvidia.com-claim_"+claim+".yaml")
	raw, err := os.ReadFile(path)
	ok(t, err)
	more := bytes.ReplaceAll(raw, []byte(`{\"address\"`), []byte(`{\"futureKnob\":{\"a\":1},\"address\"`))
	if bytes.Equal(more, raw) {
		t.Fatalf("no annotation in %s", raw)
	}
	ok(t, os.WriteFile(path, more, 0o644))
	got, err := s.Trace(claim)
	ok(t, err)
	same(t, "changes", len(got.Changed), 2)
	bad := bytes.ReplaceAll(raw, []byte(`{\"address\"`), []byte(`{\"address`))
	ok(t, os.WriteFile(path, bad, 0o644))
	if _, err := s.Trace(claim); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a garbled annotation: %v", err)
	}
}

// What a container on a share is given, as the runtime's library reads it.
func TestEditsOfShares(t *testing.T) {
	n := newNode(t, "H100-80", "H100-80")
	n.cfg.MPSRoot = "/run/cotenant/mps"
	s := n.specs()
	for _, c := range []struct {
		shared sharing.Shared
		env    []string // beside those of every GPU
		mounts int
		hook   bool
	}{
		{quarter, []string{"CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps", "COTENANT_OFFER=quarter", "COTENANT_SHARE=1/4", "COTENANT_COMPUTE_PERCENT=25", "COTENANT_MEMORY_LIMIT=process",
			"COTENANT_MEMORY_BYTES=20711473152", "COTENANT_MEMORY_FRACTION=0.2421"}, 2, false},
		{limited, []string{"COTENANT_OFFER=eighth", "COTENANT_SHARE=1/8", "COTENANT_COMPUTE_PERCENT=100", "COTENANT_MEMORY_LIMIT=container",
			"COTENANT_MEMORY_BYTES=10355736576", "COTENANT_MEMORY_FRACTION=0.121", "NVIDIA_GPU_MEMORY_REQUEST=9876", "NVIDIA_GPU_MEMORY_LIMIT=9876"}, 0, true},
	} {
		daemon := ""
		if c.mounts > 0 {
			daemon = sharing.ShareName("gpu-0", c.shared)
		}
		step, facts := n.sharer(c.shared, daemon)
		step.Devices = step.Devices[:1]
		ok(t, s.Write(t.Context(), step, facts))
		spec, err := cdiapi.ReadSpec(filepath.Join(n.cfg.Dir, "k8s.gpu.nvidia.com-claim_"+claim+".yaml"), 0)
		ok(t, err)
		got := spec.Devices[0].ContainerEdits
		same(t, "environment", got.Env, c.env)
		same(t, "mounts", len(got.Mounts), c.mounts)
		for _, m := range got.Mounts {
			if !strings.HasPrefix(m.HostPath, "/run/cotenant/mps/"+daemon+"/") {
				t.Errorf("mount %+v", m)
			}
		}
		hook := false
		for _, h := range got.Hooks {
			hook = hook || strings.Contains(strings.Join(h.Args, " "), "apply-cuda-memory-limits")
		}
		same(t, "the hook for limits", hook, c.hook)
	}
}
