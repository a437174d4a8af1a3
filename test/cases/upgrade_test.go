// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	drav1beta1 "k8s.io/kubelet/pkg/apis/dra/v1beta1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const soon = 5 * time.Second

// Sockets left behind (kubernetes/kubernetes#128696, #132660; canonical/k8s-snap#727).
func TestF88SocketsLeftBehind(t *testing.T) {
	t.Run("dead sockets", func(t *testing.T) {
		n := newNode(t, []string{"A30-24"})
		ok(t, os.MkdirAll(n.paths.Data(), 0o755))
		others := []string{filepath.Join(n.paths.Registry, "other-reg.sock"), filepath.Join(n.paths.Data(), "dra-old-pod.sock")}
		for _, path := range append([]string{n.paths.Socket(), n.paths.RegistrySocket()}, others...) {
			deadSocket(t, path)
		}
		n.start()
		c := n.claim("c", "gpu-0")
		_, err := n.P(c)
		ok(t, err)
		n.stop()
		for _, path := range []string{n.paths.Socket(), n.paths.RegistrySocket()} {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("our socket %s is left after the stop", path)
			}
		}
		for _, path := range others {
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("the socket of somebody else is gone: %v", err)
			}
		}
	})
	t.Run("a live listener", func(t *testing.T) {
		n := newNode(t, []string{"A30-24"})
		ok(t, os.MkdirAll(n.paths.Data(), 0o755))
		l, err := net.Listen("unix", n.paths.Socket())
		ok(t, err)
		defer l.Close()
		ok(t, n.launch())
		refused(t, n.awaitEnd(), n.paths.Socket(), "another plugin is listening")
		conn, err := net.Dial("unix", n.paths.Socket())
		if err != nil {
			t.Fatalf("the other instance's socket was taken from it: %v", err)
		}
		conn.Close()
	})
	t.Run("a regular file", func(t *testing.T) {
		n := newNode(t, []string{"A30-24"})
		ok(t, os.MkdirAll(n.paths.Data(), 0o755))
		ok(t, os.WriteFile(n.paths.Socket(), []byte("precious"), 0o644))
		refused(t, n.tryStart(), n.paths.Socket(), "not a socket")
		raw, err := os.ReadFile(n.paths.Socket())
		ok(t, err)
		same(t, "the file", string(raw), "precious")
		ok(t, os.Remove(n.paths.Socket()))
	})
}

func deadSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	ok(t, err)
	l.SetUnlinkOnClose(false)
	ok(t, l.Close())
}

// The kubelet speaks another version (kubernetes/kubernetes#132700, #132574, #127511).
func TestF89KubeletSpeaksAnotherVersion(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.start()
	reg := n.dial(n.paths.RegistrySocket())
	defer reg.Close()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	info, err := registerapi.NewRegistrationClient(reg).GetInfo(ctx, &registerapi.InfoRequest{})
	ok(t, err)
	same(t, "services", info.SupportedVersions, []string{drav1.DRAPluginService, drav1beta1.DRAPluginService})

	c := n.claim("c", "gpu-0")
	now, err := n.P(c)
	ok(t, err)
	ok(t, n.U(c))
	old := drav1beta1.NewDRAPluginClient(n.conn)
	claims := []*drav1beta1.Claim{{Namespace: c.Namespace, Name: c.Name, Uid: string(c.UID)}}
	r, err := old.NodePrepareResources(ctx, &drav1beta1.NodePrepareResourcesRequest{Claims: claims})
	ok(t, err)
	got := r.Claims[string(c.UID)]
	same(t, "error", got.Error, "")
	same(t, "ids over v1beta1", got.Devices[0].CdiDeviceIds, ids(now))
	u, err := old.NodeUnprepareResources(ctx, &drav1beta1.NodeUnprepareResourcesRequest{Claims: claims})
	ok(t, err)
	same(t, "error", u.Claims[string(c.UID)].Error, "")

	// The kubelet refuses: the plugin does not sit there looking ready.
	_, _ = registerapi.NewRegistrationClient(reg).NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: false, Error: "no such version"})
	refused(t, n.awaitEnd(), "no such version")
}

// The kubelet deletes the node's slices when it starts (dra-driver-nvidia-gpu#330).
func TestF91KubeletRestartRemovesSlices(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24", "A30-24"})
	n.start()
	n.awaitDevices("gpu-0", "gpu-1", "gpu-2")
	api := n.client.ResourceV1().ResourceSlices()
	ctx := context.Background()
	generation := n.slices()[0].Spec.Pool.Generation
	back := func(what string, owner types.UID) {
		t.Helper()
		eventually(t, soon, func() string {
			slices := n.slices()
			if len(slices) != 3 {
				return what + ": not all slices are back"
			}
			for _, s := range slices {
				switch {
				case s.Spec.Pool.Generation < generation:
					return what + ": the generation fell"
				case s.Spec.Pool.ResourceSliceCount != 3 || len(s.Spec.Devices) != 1 || s.Spec.Devices[0].Attributes["type"].StringValue == nil:
					return what + ": a slice is not what it was"
				case s.Spec.Pool.Generation != slices[0].Spec.Pool.Generation:
					return what + ": more than one generation"
				case len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != owner:
					return what + ": wrong owner"
				}
			}
			return ""
		})
		generation = n.slices()[0].Spec.Pool.Generation
	}
	back("at first", "node-uid-1")

	for _, s := range n.slices() {
		ok(t, api.Delete(ctx, s.Name, metav1.DeleteOptions{}))
	}
	back("all deleted", "node-uid-1")

	reg := n.dial(n.paths.RegistrySocket())
	defer reg.Close()
	_, err := registerapi.NewRegistrationClient(reg).NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: true})
	ok(t, err)
	back("registered again", "node-uid-1")

	ok(t, api.Delete(ctx, n.slices()[1].Name, metav1.DeleteOptions{}))
	back("one of three deleted", "node-uid-1")

	edited := n.slices()[0].DeepCopy()
	delete(edited.Spec.Devices[0].Attributes, "type")
	_, err = api.Update(ctx, edited, metav1.UpdateOptions{})
	ok(t, err)
	back("one edited by hand", "node-uid-1")

	ok(t, n.client.CoreV1().Nodes().Delete(ctx, n.name, metav1.DeleteOptions{}))
	_, err = n.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, UID: "node-uid-2"}}, metav1.CreateOptions{})
	ok(t, err)
	back("node made anew", "node-uid-2")

	// No write loop: once all is well nothing is written.
	before := n.writes.count()
	hold := time.After(3 * syncSettles)
	<-hold
	if after := n.writes.count(); after != before {
		t.Errorf("%d writes while nothing changed", after-before)
	}
}

// syncSettles is longer than the publisher's delay between an event and its
// comparison; the absence of writes has no condition to wait for.
const syncSettles = 600 * time.Millisecond

// A restart of the plugin writes no slice.
func TestRestartWritesNothing(t *testing.T) {
	n := newNode(t, []string{"A30-24", "H100-80"})
	n.start()
	n.awaitDevices("gpu-0", "gpu-1")
	before, written := asJSON(t, n.slices()), n.writes.count()
	n.restart()
	eventually(t, soon, func() string {
		if !n.driver.Ready() {
			return "not ready"
		}
		return ""
	})
	<-time.After(3 * syncSettles)
	same(t, "slices", asJSON(t, n.slices()), before)
	same(t, "writes", n.writes.count(), written)
}

// The kubelet's root is somewhere else (kubernetes-sigs/dranet#250).
func TestF92KubeletRootSomewhereElse(t *testing.T) {
	base := t.TempDir()
	t.Run("moved", func(t *testing.T) {
		dir, err := os.MkdirTemp("", "kr")
		ok(t, err)
		defer os.RemoveAll(dir)
		n := newNode(t, []string{"A30-24"}, below(dir))
		n.start()
		for _, path := range []string{n.paths.Socket(), n.paths.RegistrySocket(), n.paths.Journal()} {
			if !strings.HasPrefix(path, dir) {
				t.Errorf("%s is not below %s", path, dir)
			}
			mustStat(t, path)
		}
	})
	t.Run("too long", func(t *testing.T) {
		dir := filepath.Join(base, strings.Repeat("x", 95))
		n := newNode(t, []string{"A30-24"}, below(dir))
		begun := time.Now()
		refused(t, n.tryStart(), "107", "--kubelet-plugins-directory-path")
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %s to say so", took)
		}
	})
	t.Run("not usable", func(t *testing.T) {
		file := filepath.Join(base, "file")
		ok(t, os.WriteFile(file, nil, 0o644))
		n := newNode(t, []string{"A30-24"})
		n.paths.Plugins = filepath.Join(file, "plugins")
		refused(t, n.tryStart(), n.paths.Plugins, "not a directory", "--kubelet-plugins-directory-path")
		n.paths.Plugins, n.paths.Registry = filepath.Join(base, "plugins"), filepath.Join(base, "absent")
		refused(t, n.tryStart(), n.paths.Registry, "no such file", "--kubelet-registrar-directory-path")
	})
}

// A reboot ends what was prepared; new sandboxes prepare the same devices.
func TestReboot(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.start()
	c, d := n.claim("c", "gpu-0"), n.claim("d", "gpu-1")
	before, err := n.P(c)
	ok(t, err)
	_, err = n.P(d)
	ok(t, err)
	n.reboot()
	same(t, "records after the reboot", n.records(), map[string]string{})
	same(t, "specs after the reboot", len(n.cdiFiles()), 0)
	after, err := n.P(c)
	ok(t, err)
	same(t, "the grant", asJSON(t, after), asJSON(t, before))
	ok(t, n.U(c))
	ok(t, n.U(d)) // never prepared in this boot
	same(t, "specs at the end", len(n.cdiFiles()), 0)
}

// The boot id cannot be read: the plugin does not take the node's state on trust.
func TestBootIDUnreadable(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.paths.ProcRoot = filepath.Join(n.paths.ProcRoot, "absent")
	refused(t, n.tryStart(), "boot id", "--proc-root")
}

// While the device plugin, or the upstream driver, hands out the GPUs of the
// node, nothing is published there.
func TestSomebodyElseHandsOutTheGPUs(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	ok(t, os.MkdirAll(n.paths.Data(), 0o755))
	checkpoint := n.paths.UpstreamCheckpoint()
	ok(t, os.WriteFile(checkpoint, []byte(`{"checksum":1,"v2":{"preparedClaims":{"u1":{"checkpointState":"PrepareCompleted"}}}}`), 0o644))
	n.start()
	eventually(t, soon, func() string {
		if !n.driver.Ready() {
			return "not ready"
		}
		return ""
	})
	same(t, "devices while the checkpoint holds claims", len(n.devices()), 0)
	ok(t, os.WriteFile(checkpoint, []byte(`{"v1":{"preparedClaims":{}},"v2":{"preparedClaims":{}}}`), 0o644))
	n.awaitDevices("gpu-0")
	n.advertise("8")
	eventually(t, soon, func() string {
		if len(n.devices()) != 0 {
			return "still published beside the device plugin"
		}
		return ""
	})
	n.advertise("0")
	n.awaitDevices("gpu-0")
}
