// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"regexp"
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/test/sim/products"
)

// theirPattern is how the upstream driver takes names apart, and with it other
// tools (dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/mig.go).
var theirPattern = regexp.MustCompile(`^gpu-(\d+)-mig-(.+)-(\d+)-(\d+)$`)

// label is what Kubernetes takes as the name of a device: a DNS label.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func TestEveryPartitionIsFoundByItsName(t *testing.T) {
	all, err := products.All()
	if err != nil {
		t.Fatal(err)
	}
	for product, p := range all {
		if len(p.Profiles) == 0 {
			continue
		}
		t.Run(product, func(t *testing.T) {
			d := divisible(t, product, "gpu-12")
			seen := map[string]mig.Partition{}
			for _, p := range d.MIG.Geometry.Partitions() {
				profile, _ := d.MIG.Geometry.Profile(p.Profile)
				name := PartitionName(d.Name, profile, p.Start)
				if other, taken := seen[name]; taken {
					t.Fatalf("%+v and %+v are both %s", other, p, name)
				}
				seen[name] = p
				if m := theirPattern.FindStringSubmatch(name); m == nil || m[1] != "12" {
					t.Errorf("the upstream driver takes %s apart as %q", name, m)
				}
				if !label.MatchString(name) {
					t.Errorf("%s is no DNS label", name)
				}
				at, ok := parseSlot(name)
				if got, found := d.partition(at); !ok || !found || got != p || at.gpu != "gpu-12" || at.whole {
					t.Errorf("%s is read as %+v of %s, want %+v of gpu-12", name, got, at.gpu, p)
				}
				if GPUOf(name) != "gpu-12" || TypeOf(name) != "mig" {
					t.Errorf("%s: GPU %q, type %q", name, GPUOf(name), TypeOf(name))
				}
			}
		})
	}
}

func TestProfilesInNames(t *testing.T) {
	for profile, want := range map[string]string{
		"1g.10gb":       "gpu-0-mig-1g10gb-20-3",
		"1g.10gb+me":    "gpu-0-mig-1g10gb-me-20-3",
		"1g.5gb+me.all": "gpu-0-mig-1g5gb-meall-20-3",
		"1g.24gb-me":    "gpu-0-mig-1g24gb-me-20-3",
		"4g.96gb+gfx":   "gpu-0-mig-4g96gb-gfx-20-3",
		"1G.10GB":       "gpu-0-mig-1g10gb-20-3",
		".1g_5gb+":      "gpu-0-mig-1g-5gb-20-3",
	} {
		if got := PartitionName("gpu-0", mig.Profile{Name: profile, ID: 20}, 3); got != want {
			t.Errorf("%s is called %s, want %s", profile, got, want)
		}
	}
}

func TestNamesThatAreNoSlots(t *testing.T) {
	for name, want := range map[string]struct{ gpu, kind string }{
		"gpu-0": {"gpu-0", "gpu"}, "gpu-10": {"gpu-10", "gpu"}, "gpu-1-mig-anything-19-0": {"gpu-1", "mig"},
		"gpu-1-mig-3g40gb-9-4": {"gpu-1", "mig"}, "gpu-1-mig-a-mig-b-9-4": {"gpu-1", "mig"},
		"gpu-0-quarter-4f2a": {"gpu-0", "gpu-share"}, "gpu-0-mig-1234": {"gpu-0", "gpu-share"}, "gpu-10-a1-0000": {"gpu-10", "gpu-share"},
		"": {}, "gpu": {}, "gpu-": {}, "gpu-x": {}, "gpu--1": {}, "GPU-0": {}, " gpu-0": {}, "gpu-0 ": {}, "gpu-0\n": {}, "xgpu-0": {},
		"gpu-0-mig": {}, "gpu-0-mig-19-0": {}, "gpu-0-mig--19-0": {}, "gpu-0-mig-1g10gb-19": {}, "gpu-0-mig-1g10gb-19-x": {},
		"gpu-0-mig-1g10gb-19-0-x": {}, "gpu-vfio-0": {}, "gpu-0-mig-1g10gb-19--1": {},
		"gpu-0-quarter": {}, "gpu-0-quarter-4f2": {}, "gpu-0-quarter-4f2g": {}, "gpu-0-Quarter-4f2a": {}, "gpu-0-4f2a": {}, "gpu-0-1a-4f2a": {}, "gpu-0-a-b-4f2a": {},
	} {
		if got := GPUOf(name); got != want.gpu {
			t.Errorf("%q is of %q, want %q", name, got, want.gpu)
		}
		if got := TypeOf(name); got != want.kind {
			t.Errorf("%q is of type %q, want %q", name, got, want.kind)
		}
	}
}

// What is in a name and not on the GPU is nowhere on it.
func TestNamesOfWhatTheGPUDoesNotHave(t *testing.T) {
	h100, t4 := divisible(t, "H100-80", "gpu-0"), device("gpu-0", Ready)
	for name, d := range map[string]Device{
		"gpu-0-mig-1g10gb-99-0":                      h100,
		"gpu-0-mig-1g10gb-19-7":                      h100,
		"gpu-0-mig-2g20gb-14-3":                      h100,
		"gpu-0-mig-1g10gb-19-0":                      t4,
		"gpu-0-mig-1g10gb-99999999999999999999-0":    h100,
		"gpu-0-mig-1g10gb-19-9999999999999999999999": h100,
	} {
		at, ok := parseSlot(name)
		if p, found := d.partition(at); ok && found {
			t.Errorf("%s is found at %+v", name, p)
		}
		_, err := Acquire(Node{Pool: "n1", Devices: map[string]Device{"gpu-0": d}}, Claim{UID: "c", Asks: []Ask{{Request: "r", Device: name}}})
		refusal(t, err, "NotFound", name)
	}
}
