// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A log that gets long is cut where it is, and its end is kept.
func TestTrim(t *testing.T) {
	cfg := &Config{Root: t.TempDir(), Logs: t.TempDir()}
	p := cfg.place("a")
	ok(t, os.Mkdir(p.logs, 0o755))
	name := filepath.Join(p.logs, "server.log")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ok(t, err)
	defer f.Close()
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	for range maxLog/len(line) - 8 {
		_, err := f.Write(line)
		ok(t, err)
	}
	p.trim()
	if info, err := os.Stat(name); err != nil || info.Size() < maxLog/2 {
		t.Fatalf("cut too early: %v, %v", info.Size(), err)
	}
	for range 16 {
		_, err := f.Write(line)
		ok(t, err)
	}
	_, err = f.WriteString("the last words\n")
	ok(t, err)
	p.trim()
	if info, err := os.Stat(name); err != nil || info.Size() != 0 {
		t.Errorf("not cut: %v, %v", info.Size(), err)
	}
	old, err := os.ReadFile(name + ".old")
	ok(t, err)
	if len(old) != keptLog || !bytes.HasSuffix(old, []byte("the last words\n")) {
		t.Errorf("kept %d bytes", len(old))
	}
	_, err = f.WriteString("goes on\n")
	ok(t, err)
	if got := lastLine(name); got != "goes on" {
		t.Errorf("the log goes on with %q", got)
	}
}

// A link among the logs is not followed.
func TestTrimFollowsNoLink(t *testing.T) {
	cfg := &Config{Root: t.TempDir(), Logs: t.TempDir()}
	p := cfg.place("a")
	ok(t, os.Mkdir(p.logs, 0o755))
	victim := filepath.Join(t.TempDir(), "victim")
	ok(t, os.WriteFile(victim, bytes.Repeat([]byte("x"), 2*maxLog), 0o600))
	ok(t, os.Symlink(victim, filepath.Join(p.logs, "server.log")))
	p.trim()
	if info, err := os.Stat(victim); err != nil || info.Size() != 2*maxLog {
		t.Errorf("cut: %v, %v", info, err)
	}
}
