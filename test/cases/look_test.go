// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	cdiapi "tags.cncf.io/container-device-interface/pkg/cdi"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails unless err is there and says each of the words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted; want a refusal that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// eventually waits until the condition returns "", or fails with what it last
// returned.
func eventually(t *testing.T, within time.Duration, condition func() string) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		why := condition()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, why)
		}
		time.Sleep(5 * time.Millisecond) // polls another goroutine's work
	}
}

// slices returns what is published, by the order of the slices' names.
func (n *node) slices() []resourceapi.ResourceSlice {
	n.t.Helper()
	list, err := n.client.ResourceV1().ResourceSlices().List(context.Background(), metav1.ListOptions{})
	ok(n.t, err)
	sort.Slice(list.Items, func(i, j int) bool { return list.Items[i].Name < list.Items[j].Name })
	return list.Items
}

// devices returns the published devices by name.
func (n *node) devices() map[string]resourceapi.Device {
	n.t.Helper()
	out := map[string]resourceapi.Device{}
	for _, s := range n.slices() {
		for _, d := range s.Spec.Devices {
			if _, twice := out[d.Name]; twice {
				n.t.Errorf("device %s is published twice", d.Name)
			}
			out[d.Name] = d
		}
	}
	return out
}

// awaitDevices waits until exactly these devices are published and none of them
// is tainted, and returns them.
func (n *node) awaitDevices(names ...string) map[string]resourceapi.Device {
	n.t.Helper()
	var got map[string]resourceapi.Device
	eventually(n.t, 15*time.Second, func() string {
		got = n.devices()
		var have []string
		for name, d := range got {
			if len(d.Taints) == 0 {
				have = append(have, name)
			}
		}
		slices.Sort(have)
		if !slices.Equal(have, slices.Sorted(slices.Values(names))) || len(got) != len(names) {
			return "published and free: " + strings.Join(have, " ")
		}
		return ""
	})
	return got
}

// awaitTaint waits until the device carries the taint, or none if key is "".
func (n *node) awaitTaint(device, key string) {
	n.t.Helper()
	eventually(n.t, 15*time.Second, func() string {
		d, published := n.devices()[device]
		if !published {
			return device + " is not published"
		}
		for _, taint := range d.Taints {
			if taint.Key == key && taint.Effect == resourceapi.DeviceTaintEffectNoSchedule {
				return ""
			}
		}
		if key == "" && len(d.Taints) == 0 {
			return ""
		}
		return "its taints are " + taintKeys(d)
	})
}

func taintKeys(d resourceapi.Device) string {
	var keys []string
	for _, taint := range d.Taints {
		keys = append(keys, taint.Key)
	}
	return strings.Join(keys, " ")
}

// cdiFiles returns the names of all files in the CDI directory.
func (n *node) cdiFiles() []string {
	n.t.Helper()
	entries, err := os.ReadDir(n.paths.CDIRoot)
	if os.IsNotExist(err) {
		return nil
	}
	ok(n.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (n *node) cdiFile(c *resourceapi.ResourceClaim) string {
	return filepath.Join(n.paths.CDIRoot, "k8s.gpu.nvidia.com-claim_"+string(c.UID)+".yaml")
}

// ids are the CDI ids of the answer, in its order.
func ids(devices []*drav1.Device) []string {
	var out []string
	for _, d := range devices {
		out = append(out, d.CdiDeviceIds...)
	}
	return out
}

// container applies the ids to a container that starts with the environment, the
// way a runtime does: from the plugin's CDI directory and nothing else.
func (n *node) container(cdiIDs []string, env ...string) *oci.Spec {
	n.t.Helper()
	cache, err := cdiapi.NewCache(cdiapi.WithSpecDirs(n.paths.CDIRoot), cdiapi.WithAutoRefresh(false))
	ok(n.t, err)
	for path, errs := range cache.GetErrors() {
		n.t.Errorf("CDI spec %s: %v", path, errs)
	}
	spec := &oci.Spec{Process: &oci.Process{Env: env}}
	unresolved, err := cache.InjectDevices(spec, cdiIDs...)
	if err != nil {
		n.t.Fatalf("inject %v: %v (unresolved %v)", cdiIDs, err, unresolved)
	}
	return spec
}

// nodesOf are the device nodes of the container, without the control nodes that
// every GPU container has.
func nodesOf(spec *oci.Spec) []string {
	control := map[string]bool{"/dev/nvidiactl": true, "/dev/nvidia-uvm": true, "/dev/nvidia-uvm-tools": true, "/dev/nvidia-modeset": true}
	var out []string
	if spec.Linux != nil {
		for _, d := range spec.Linux.Devices {
			if !control[d.Path] {
				out = append(out, d.Path)
			}
		}
	}
	slices.Sort(out)
	return out
}

// records returns the claims in the journal with their states. The plugin must
// be stopped or the journal open in this process.
func (n *node) records() map[string]string {
	n.t.Helper()
	recs, err := n.store.Claims()
	ok(n.t, err)
	out := map[string]string{}
	for _, r := range recs {
		out[r.UID] = string(r.State)
	}
	return out
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	ok(t, err)
	return string(raw)
}
