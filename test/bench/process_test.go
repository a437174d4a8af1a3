// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsageIsThatOfTheProcess(t *testing.T) {
	pid := os.Getpid()
	before, err := usageOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	if err := os.WriteFile(filepath.Join(t.TempDir(), "f"), make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	after, err := usageOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	spent := after.sub(before)
	if spent.written < size || spent.cpu <= 0 {
		t.Errorf("writing %d bytes cost %+v", size, spent)
	}
	if m, err := memoryOf(pid); err != nil || m.anonymous < size || m.resident <= m.anonymous {
		t.Errorf("memory %+v, %v", m, err)
	}
	if _, err := field("VmHWM:\t1 kB\n", "VmRSS"); err == nil {
		t.Error("a field that is not there was read")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var last tail
	for range 3 {
		if _, err := last.Write(make([]byte, tailSize-1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := last.Write([]byte("the end")); err != nil {
		t.Fatal(err)
	}
	if got := last.String(); len(got) != tailSize || !strings.HasSuffix(got, "the end") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-7:])
	}
}

func TestProcessEnds(t *testing.T) {
	for _, c := range []struct {
		name, script, wrong string
		byItself            bool
	}{
		{"told", `trap "exit 0" TERM; echo ready; while :; do sleep 0.01; done`, "", false},
		{"told, and fails", `trap "exit 3" TERM; echo ready; while :; do sleep 0.01; done`, "exit status 3", false},
		{"by itself", `echo ready; exit 0`, "without being told", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ready := make(chan struct{}, 1)
			p, err := startProcess(signalling(ready), os.Environ(), "/bin/sh", "-c", c.script)
			if err != nil {
				t.Fatal(err)
			}
			<-ready
			if c.byItself {
				<-p.ended
			}
			err = p.stop()
			if (err != nil) != (c.wrong != "") || (err != nil && !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("error %v, want %q", err, c.wrong)
			}
			if p.lastWords() != "ready\n" {
				t.Errorf("it said %q", p.lastWords())
			}
		})
	}
}

type signalling chan struct{}

func (s signalling) Write(b []byte) (int, error) {
	select {
	case s <- struct{}{}:
	default:
	}
	return len(b), nil
}

func TestUnpack(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "bin")
	if _, err := unpack(from, to+"0"); err == nil || !strings.Contains(err.Error(), "make lab") {
		t.Errorf("nothing to copy: error %v", err)
	}
	for _, name := range []string{program, companion} {
		if err := os.WriteFile(filepath.Join(from, name), []byte("#!/bin/sh\necho "+name+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	plugin, err := unpack(from, to)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{plugin, filepath.Join(filepath.Dir(plugin), companion)} {
		out, err := exec.Command(path).Output()
		if err != nil || string(out) != filepath.Base(path)+"\n" {
			t.Errorf("the copy %s printed %q, %v", path, out, err)
		}
	}
}
