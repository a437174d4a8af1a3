// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const tail = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 987654 19 20"
	for name, test := range map[string]struct {
		line  string
		want  Process
		state string
	}{
		"plain":                {"7 (sleep) S 42" + tail, Process{Parent: 42, Start: 987654}, "S"},
		"name with blanks":     {"7 (a b c) R 1" + tail, Process{Parent: 1, Start: 987654}, "R"},
		"name that looks done": {"7 (x) S 9) Z 1" + tail, Process{Parent: 1, Start: 987654}, "Z"},
	} {
		t.Run(name, func(t *testing.T) {
			got, state, err := parseStat(test.line)
			if err != nil || got != test.want || state != test.state {
				t.Errorf("got %+v, %q, %v; want %+v, %q", got, state, err, test.want, test.state)
			}
		})
	}
	for _, line := range []string{"", "7 sleep S 42", "7 (sleep) S 42 1", "7 (sleep) S x" + tail} {
		if got, _, err := parseStat(line); err == nil {
			t.Errorf("%q was read as %+v", line, got)
		}
	}
}

// proc writes a /proc of the given processes: id, parent and environment.
func proc(t *testing.T, processes map[int][]string, parents map[int]int) string {
	t.Helper()
	dir := t.TempDir()
	for pid, environ := range processes {
		at := filepath.Join(dir, strconv.Itoa(pid))
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		stat := strconv.Itoa(pid) + " (x) S " + strconv.Itoa(parents[pid]) + " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 5 19"
		text := ""
		for _, e := range environ {
			text += e + "\x00"
		}
		for name, content := range map[string]string{"stat": stat, "environ": text} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// A cluster's processes are those that carry its mark, those in its control
// group and all below them; a cluster whose directory only begins alike has none.
func TestProcessesOfACluster(t *testing.T) {
	dir := proc(t, map[int][]string{
		1:  {"PATH=/bin"},
		10: append([]string{"PATH=/bin"}, Mark("/run/a", "etcd")...),
		20: Mark("/run/a", "node/x/containerd"),
		21: {}, // a container below it
		22: {}, // and its child
		30: Mark("/run/ab", "etcd"),
		40: {}, // a container whose shim has died
		41: {},
		50: append(Mark("/run/b", "etcd"), Mark("/run/a", "exec")...), // the last mark counts
	}, map[int]int{10: 1, 20: 1, 21: 20, 22: 21, 30: 1, 40: 1, 41: 40, 50: 1})
	all, err := Processes(dir)
	if err != nil {
		t.Fatal(err)
	}
	pids := func(table Table) []int {
		var pids []int
		for _, p := range table {
			pids = append(pids, p.PID)
		}
		slices.Sort(pids)
		return pids
	}
	if diff := cmp.Diff([]int{10, 20, 50}, pids(all.Of("/run/a", nil))); diff != "" {
		t.Errorf("marked: %s", diff)
	}
	onNode := all.Of("/run/a", func(part string) bool { return part == "node/x/containerd" })
	if diff := cmp.Diff([]int{20, 21, 22, 40, 41}, pids(onNode.With(all, []int{40}))); diff != "" {
		t.Errorf("with what is below: %s", diff)
	}
	if diff := cmp.Diff([]int{20, 22}, pids(onNode.With(all, nil).Without(21))); diff != "" {
		t.Errorf("without one: %s", diff)
	}
}

// TestMain lets this program be a daemon of the tests.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_DAEMON") == "sleep" {
		time.Sleep(time.Hour)
	}
	if os.Getenv("TEST_DAEMON") == "fail" {
		os.Stderr.WriteString("no bread today\n")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func daemon(t *testing.T, dir, mode string) *Running {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Daemon{
		Dir: dir, Part: "sleeper", Log: filepath.Join(dir, "log"),
		Args: []string{self}, Env: []string{"TEST_DAEMON=" + mode},
	}.Start()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStartFindKill(t *testing.T) {
	dir := t.TempDir()
	r := daemon(t, dir, "sleep")
	find := func() (Table, error) {
		all, err := Processes("/proc")
		return all.Of(dir, nil), err
	}
	// Between fork and exec the environment is still the parent's.
	for deadline := time.Now().Add(10 * time.Second); ; {
		found, err := find()
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 1 && found[0].PID == r.PID && found[0].Part == "sleeper" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %+v, want process %d", found, r.PID)
		}
	}
	if err := KillAll(find); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	if found, err := find(); err != nil || len(found) != 0 {
		t.Errorf("after the kill: %+v, %v", found, err)
	}
}

func TestTerminate(t *testing.T) {
	r := daemon(t, t.TempDir(), "sleep")
	if err := Terminate(r.Process, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	if err := Terminate(r.Process, time.Second); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}

// An id that was given to another process names the first one no more.
func TestOpenRefusesAReusedID(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	now, ok := readProcess(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid)), cmd.Process.Pid)
	if !ok {
		t.Fatal("the process is not there")
	}
	h, ok, err := Open(now)
	if err != nil || !ok {
		t.Fatalf("open: %v, %v", ok, err)
	}
	h.Close()
	now.Start--
	if _, ok, err := Open(now); ok || err != nil {
		t.Errorf("a process with another start time was opened: %v, %v", ok, err)
	}
}

func TestFailureSaysWhy(t *testing.T) {
	r := daemon(t, t.TempDir(), "fail")
	<-r.Done()
	err := r.Failure()
	for _, want := range []string{"sleeper", "exit status 3", r.Log, "no bread today"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
}
