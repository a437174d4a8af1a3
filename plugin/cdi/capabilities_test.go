// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// The numbers of this machine are those of no other: nothing may be taken for
// granted about them.
const (
	deviceList = "Character devices:\n  1 mem\n195 nvidia\n240 nvidia-caps-imex-channels\n237 nvidia-caps\n511 nvidia-uvm\n\nBlock devices:\n  8 sd\n"
	giAccess   = "driver/nvidia/capabilities/gpu0/mig/gi2/access"
	ciAccess   = "driver/nvidia/capabilities/gpu0/mig/gi2/ci1/access"
)

func access(minor string) string {
	return "DeviceFileMinor: " + minor + "\nDeviceFileMode: 292\nDeviceFileModify: 1\n"
}

// procfs is a node's /proc with one MIG instance on gpu0, and with these files
// otherwise; an empty one is not there.
func procfs(t *testing.T, otherwise map[string]string) string {
	t.Helper()
	files := map[string]string{"devices": deviceList, giAccess: access("21"), ciAccess: access("23")}
	for name, content := range otherwise {
		files[name] = content
	}
	dir := t.TempDir()
	for name, content := range files {
		if content == "" {
			continue
		}
		path := filepath.Join(dir, name)
		ok(t, os.MkdirAll(filepath.Dir(path), 0o755))
		ok(t, os.WriteFile(path, []byte(content), 0o444))
	}
	return dir
}

const (
	slot  = "gpu-0-mig-3g40gb-9-4"
	claim = "0b1e7c1a"
)

// step is the spec of a claim for a partition of the first GPU.
func (n *node) step() sharing.WriteSpec {
	return sharing.WriteSpec{Claim: claim, Devices: []sharing.SpecDevice{{
		Name: claim + "-" + slot, Address: n.gpu(0).PCI, UUID: n.gpu(0).UUID, Slot: slot,
		Made: &mig.Partition{Profile: 9, Placement: mig.Placement{Start: 4, Size: 4}},
	}}}
}

var facts = sharing.Facts{slot: {GI: 2, CI: 1, UUID: "MIG-1"}}

// A container gets the nodes of the whole GPU, and the two that open its part.
func TestCapabilityNodes(t *testing.T) {
	n := newNode(t, "H100-80")
	n.cfg.ProcRoot = procfs(t, nil)
	s := n.specs()
	ok(t, s.Write(t.Context(), n.step(), facts))
	same(t, "nodes", n.nodes(claim, 0), []string{
		"/dev/nvidia-caps/nvidia-cap21 c 237:21 rw", "/dev/nvidia-caps/nvidia-cap23 c 237:23 rw", "/dev/nvidia0",
	})
	// What was kept of the GPU did not change: another container gets all of it and
	// no capability.
	whole := sharing.WriteSpec{Claim: "whole", Devices: []sharing.SpecDevice{{Name: "whole-gpu-0", Address: n.gpu(0).PCI, UUID: n.gpu(0).UUID}}}
	ok(t, s.Write(t.Context(), whole, facts))
	same(t, "nodes of a whole GPU", n.nodes("whole", 0), []string{"/dev/nvidia0"})
}

// Of two parts of one GPU in one claim, each has its own capabilities and not the
// other's.
func TestCapabilitiesOfTwoParts(t *testing.T) {
	n := newNode(t, "H100-80")
	n.cfg.ProcRoot = procfs(t, map[string]string{
		"driver/nvidia/capabilities/gpu0/mig/gi9/access": access("84"), "driver/nvidia/capabilities/gpu0/mig/gi9/ci0/access": access("85"),
	})
	const other = "gpu-0-mig-1g10gb-19-0"
	step := n.step()
	step.Devices = append(step.Devices, sharing.SpecDevice{Name: claim + "-" + other, Address: n.gpu(0).PCI, UUID: n.gpu(0).UUID, Slot: other})
	ok(t, n.specs().Write(t.Context(), step, sharing.Facts{slot: facts[slot], other: {GI: 9, UUID: "MIG-2"}}))
	for i, want := range [][]string{
		{"/dev/nvidia-caps/nvidia-cap21 c 237:21 rw", "/dev/nvidia-caps/nvidia-cap23 c 237:23 rw", "/dev/nvidia0"},
		{"/dev/nvidia-caps/nvidia-cap84 c 237:84 rw", "/dev/nvidia-caps/nvidia-cap85 c 237:85 rw", "/dev/nvidia0"},
	} {
		same(t, step.Devices[i].Name, n.nodes(claim, i), want)
	}
}

// Who watches a partition that is not there gets the GPU's nodes alone.
func TestNoCapabilityOfWhatIsNotThere(t *testing.T) {
	n := newNode(t, "H100-80")
	n.cfg.ProcRoot = procfs(t, map[string]string{giAccess: "", ciAccess: "", "devices": ""})
	ok(t, n.specs().Write(t.Context(), n.step(), nil))
	same(t, "nodes", n.nodes(claim, 0), []string{"/dev/nvidia0"})
}

// A capability that cannot be found is an error that names the file, and leaves
// no spec: a container without it would see no GPU and not say why.
func TestCapabilitiesThatCannotBeFound(t *testing.T) {
	for name, c := range map[string]struct{ file, content, says string }{
		"no list of devices":              {"devices", "", "no such file"},
		"no capabilities in the list":     {"devices", "Character devices:\n195 nvidia\n240 nvidia-caps-imex-channels\n", "has no nvidia-caps: the driver offers no MIG capabilities"},
		"a list that is garbled":          {"devices", "Character devices:\nx37 nvidia-caps\n", "x37"},
		"no file of the GPU instance":     {giAccess, "", "no such file"},
		"no file of the compute instance": {ciAccess, "", "no such file"},
		"no minor in it":                  {ciAccess, "DeviceFileMode: 292\n", "has no DeviceFileMinor"},
		"a minor that is no number":       {giAccess, access("twenty"), "twenty"},
		"a minor that is too large":       {giAccess, access("99999999999999999999"), "out of range"},
		"a file that is cut off":          {giAccess, "DeviceFileMi", "has no DeviceFileMinor"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "H100-80")
			n.cfg.ProcRoot = procfs(t, map[string]string{c.file: c.content})
			err := n.specs().Write(t.Context(), n.step(), facts)
			if err == nil {
				t.Fatal("the spec was written")
			}
			for _, want := range []string{filepath.Join(n.cfg.ProcRoot, c.file), c.says} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if uids, err := n.specs().List(); err != nil || len(uids) != 0 {
				t.Errorf("specs %v, %v", uids, err)
			}
		})
	}
}

// The minor of a GPU can change below its UUID, with the MIG mode or a reset: the
// next spec has the new one, in the GPU's node and in the path of its capabilities.
func TestMinorsMove(t *testing.T) {
	n := newNode(t, "H100-80", "T4")
	s := n.specs()
	ok(t, n.machine.SetMIG(0, true))
	ok(t, n.machine.CreateInstance(0, 9, 4, true))
	gi := n.gpu(0).GIs[0]
	learnt := sharing.Facts{slot: {GI: gi.ID, CI: gi.CIs[0].ID, UUID: gi.CIs[0].UUID}}
	step := n.step()
	ok(t, s.Write(t.Context(), step, learnt))
	before := n.nodes(claim, 0)
	asked := n.machine.Calls("nvmlDeviceGetMinorNumber")
	ok(t, s.Write(t.Context(), step, learnt))
	if again := n.machine.Calls("nvmlDeviceGetMinorNumber"); again != asked {
		t.Errorf("the driver is asked %d times about what is known", again-asked)
	}
	ok(t, n.machine.Reorder([]int{1, 0}, true))
	ok(t, s.Write(t.Context(), step, learnt))
	after := n.nodes(claim, 0)
	same(t, "the GPU's node", []string{before[2], after[2]}, []string{"/dev/nvidia0", "/dev/nvidia1"})
	if before[0] == after[0] || before[1] == after[1] {
		t.Errorf("the capabilities are %v still", after)
	}
}

// The file alone tells what was made for its claim.
func TestSpecTellsWhatWasMade(t *testing.T) {
	n := newNode(t, "H100-80")
	n.cfg.ProcRoot = procfs(t, nil)
	s := n.specs()
	step := n.step()
	seen := step.Devices[0]
	seen.Name, seen.Made = claim+"-seen", nil
	step.Devices = append(step.Devices, seen)
	ok(t, s.Write(t.Context(), step, facts))
	got, err := s.Trace(claim)
	ok(t, err)
	same(t, "made", got, sharing.Trace{Made: []sharing.Made{{
		Place: sharing.Place{Slot: slot, Address: n.gpu(0).PCI, Partition: *step.Devices[0].Made}, Fact: facts[slot],
	}}})
	got, err = s.Trace("another")
	ok(t, err)
	same(t, "made for a claim without a file", got, sharing.Trace{})
	ok(t, os.WriteFile(filepath.Join(n.cfg.Dir, "k8s.gpu.nvidia.com-claim_bad.yaml"), []byte("{"), 0o644))
	if _, err := s.Trace("bad"); err == nil || !strings.Contains(err.Error(), "claim_bad.yaml") {
		t.Errorf("a garbled file: %v", err)
	}
}
