// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mountinfo = `26 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
39 30 0:36 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,release_agent=/lib/agent,name=systemd
40 30 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
50 26 0:40 /x /run/a\040b\011c rw,nodev shared:7 master:3 propagate_from:2 - tmpfs tmpfs rw
51 26 0:41 / /run/a rw - tmpfs tmpfs rw
52 51 0:42 / /run/a/b/c rw - tmpfs tmpfs rw
53 26 0:43 / /run/ab rw - tmpfs tmpfs rw
`

func mounts(t *testing.T) []Mount {
	t.Helper()
	m, err := parseMountinfo(strings.NewReader(mountinfo))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParseMountinfo(t *testing.T) {
	m := mounts(t)
	if len(m) != 9 {
		t.Fatalf("%d mounts, want 9", len(m))
	}
	want := Mount{Point: "/run/a b\tc", Type: "tmpfs", Options: []string{"rw", "nodev"}, Super: []string{"rw"}}
	if diff := cmp.Diff(want, m[5]); diff != "" {
		t.Errorf("optional fields and escapes: %s", diff)
	}
	for _, bad := range []string{"x", "26 1 254:0 / / rw shared:1 ext4 /dev/vda rw", "26 1 - ext4 /dev/vda rw", "26 1 254:0 / / rw - ext4"} {
		if m, err := parseMountinfo(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, m)
		}
	}
}

// What is mounted last goes first, and a path that only begins alike stays.
func TestBelow(t *testing.T) {
	for dir, want := range map[string][]string{
		"/run/a":  {"/run/a/b/c", "/run/a"},
		"/run/a/": {"/run/a/b/c"},
		"/none":   nil,
	} {
		if diff := cmp.Diff(want, Below(mounts(t), dir)); diff != "" {
			t.Errorf("below %s: %s", dir, diff)
		}
	}
}

func TestReadCgroups(t *testing.T) {
	want := Cgroups{
		{root: "/sys/fs/cgroup/cpu,cpuacct", fstype: "cgroup", options: "cpu,cpuacct"},
		{root: "/sys/fs/cgroup/systemd", fstype: "cgroup", options: "name=systemd"},
		{root: "/sys/fs/cgroup/unified", fstype: "cgroup2"},
	}
	if diff := cmp.Diff(want, ReadCgroups(mounts(t)), cmp.AllowUnexported(hierarchy{})); diff != "" {
		t.Error(diff)
	}
}

// hierarchies are directories that stand for mounted hierarchies; the kernel's
// files in them are written by the tests.
func hierarchies(t *testing.T, fstypes ...string) Cgroups {
	t.Helper()
	var c Cgroups
	for _, fstype := range fstypes {
		c = append(c, hierarchy{root: t.TempDir(), fstype: fstype})
	}
	return c
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCgroupMembers(t *testing.T) {
	c := hierarchies(t, "cgroup", "cgroup2")
	write(t, filepath.Join(c[0].root, "g/cgroup.procs"), "1\n2\n")
	write(t, filepath.Join(c[0].root, "g/deep/er/cgroup.procs"), "3\n")
	write(t, filepath.Join(c[0].root, "other/cgroup.procs"), "4\n")
	write(t, filepath.Join(c[1].root, "g/deep/cgroup.procs"), "5\n")
	got, err := c.Members("/g")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 5}, got); diff != "" {
		t.Error(diff)
	}
	if got, err := c.Members("/not-there"); err != nil || len(got) != 0 {
		t.Errorf("a group that is not there: %v, %v", got, err)
	}
}

func TestCgroupMake(t *testing.T) {
	c := hierarchies(t, "cgroup", "cgroup2")
	v1, v2 := c[0].root, c[1].root
	write(t, filepath.Join(v1, "cpuset.cpus"), "0-1\n")
	write(t, filepath.Join(v1, "cpuset.mems"), "0\n")
	// The kernel makes these files with the directory; here they are there before.
	for _, dir := range []string{"g", "g/n"} {
		write(t, filepath.Join(v1, dir, "cpuset.cpus"), "\n")
		write(t, filepath.Join(v1, dir, "cpuset.mems"), "\n")
	}
	write(t, filepath.Join(v2, "cgroup.controllers"), "cpu memory\n")
	write(t, filepath.Join(v2, "cgroup.subtree_control"), "")
	for range 2 { // it may be there already
		if err := c.Make("/g/n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, filepath.Join(v1, "g/n/cpuset.cpus")); got != "0-1\n" {
		t.Errorf("processors %q, want those of the parent", got)
	}
	if got := read(t, filepath.Join(v2, "cgroup.subtree_control")); !strings.HasPrefix(got, "+memory") {
		t.Errorf("the last controller enabled is %q, want +memory", got)
	}
	if err := c.Join("/g/n"); err != nil {
		t.Fatal(err)
	}
	for _, h := range c {
		if got := read(t, filepath.Join(h.root, "g/n/cgroup.procs")); got == "" {
			t.Errorf("%s: the process did not join", h.root)
		}
	}
}

func TestCgroupRemove(t *testing.T) {
	c := hierarchies(t, "cgroup", "cgroup2")
	for _, h := range c {
		if err := os.MkdirAll(filepath.Join(h.root, "g/a/b"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // gone is fine
		if err := c.Remove("/g", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range c {
		if _, err := os.Stat(filepath.Join(h.root, "g")); err == nil {
			t.Errorf("%s still has the group", h.root)
		}
	}
}

// Who waits for a lock that its holder removes must not believe to hold it: the
// next one would hold it as well.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "lock")
	first, err := TakeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan *Lock)
	go func() {
		l, err := TakeLock(path)
		if err != nil {
			t.Error(err)
		}
		second <- l
	}()
	select {
	case <-second:
		t.Fatal("two hold the lock")
	case <-time.After(50 * time.Millisecond):
	}
	if err := first.Remove(); err != nil {
		t.Fatal(err)
	}
	l := <-second
	if current, err := isAt(l.file, path); err != nil || !current {
		t.Errorf("the second holds a lock that is not at its path: %v, %v", current, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	third, err := TakeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	third.Release()
}

// What one side says after the other has finished speaking still arrives, and an
// unreachable target costs its own connection only.
func TestForward(t *testing.T) {
	target := listen(t)
	go func() {
		conn, err := target.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		question, _ := io.ReadAll(conn)
		io.WriteString(conn, "you said "+string(question))
	}()
	front := listen(t)
	done := make(chan error, 1)
	go func() { done <- Forward(front, target.Addr().String()) }()

	conn, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "hello")
	conn.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(conn)
	if err != nil || string(answer) != "you said hello" {
		t.Errorf("answer %q, %v", answer, err)
	}

	target.Close()
	lost, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer lost.Close()
	if text, _ := io.ReadAll(lost); len(text) != 0 {
		t.Errorf("a target that is gone said %q", text)
	}
	front.Close()
	if err := <-done; err != nil {
		t.Errorf("closing the listener: %v", err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestNamespacesCommand(t *testing.T) {
	for name, test := range map[string]struct {
		in   Namespaces
		want string
	}{
		"network": {Namespaces{PID: 7}, "nsenter --net=/proc/7/ns/net -- a b"},
		"node":    {Namespaces{PID: 7, Join: []string{"self", "join", "--"}}, "self join -- nsenter --net=/proc/7/ns/net --mount=/proc/7/ns/mnt --cgroup=/proc/7/ns/cgroup -- a b"},
	} {
		if got := strings.Join(test.in.Command([]string{"a", "b"}), " "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, strings.Repeat("long ago\n", 20_000)+"a\nb\nc\n")
	if got := Tail(path, 2); got != "b\nc" {
		t.Errorf("tail %q", got)
	}
	if got := Tail(path+".none", 2); !strings.Contains(got, "no such file") {
		t.Errorf("tail of a file that is not there: %q", got)
	}
}
