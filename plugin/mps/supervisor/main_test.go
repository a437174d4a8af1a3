// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim/userns"
)

// What this program is in children of the tests.
const (
	enterWord     = "exec-daemon"
	superviseWord = "supervise"
)

// apart marks the process that has a mount namespace for the tests.
const apart = "COTENANT_TEST_APART"

// programs is where the stand-ins of NVIDIA's programs are. They are built if that
// is not said.
var programs = os.Getenv("COTENANT_TEST_PROGRAMS")

func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case enterWord:
			fail(Enter(os.Args[2]))
		case superviseWord:
			fail(supervise(os.Args[2]))
		}
	}
	if os.Getenv(apart) != "" || userns.Inside() {
		os.Exit(m.Run())
	}
	built, err := build()
	fail(err)
	run := inNamespace
	if os.Geteuid() != 0 {
		run = func() int { return userns.Main(m) }
	}
	code := run()
	fail(os.RemoveAll(built))
	os.Exit(code)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// supervise runs a supervisor until the process is told to end.
func supervise(raw string) error {
	var cfg Config
	if err := json.Unmarshal([]byte(raw), &cfg); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := New(cfg)
	if err != nil {
		return err
	}
	if err := s.Run(ctx); err != nil {
		return err
	}
	os.Exit(0)
	return nil
}

// inNamespace runs the tests in a mount namespace of their own, so that nothing
// that they mount outlives them.
func inNamespace() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), apart+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	err := cmd.Run()
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return ee.ExitCode()
	}
	fail(err)
	return 0
}

// build makes the stand-ins, unless they are there, and returns what is to be
// removed.
func build() (string, error) {
	if programs != "" {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "mps-programs-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator),
		"github.com/cotenant-dev/cotenant/test/sim/cmd/nvidia-cuda-mps-control", "github.com/cotenant-dev/cotenant/test/sim/cmd/nvidia-cuda-mps-server")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return dir, errors.Join(os.Setenv("COTENANT_TEST_PROGRAMS", dir), os.Chmod(dir, 0o755), cmd.Run())
}
