// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// stopTimeout bounds the wait for a process that was told to end.
const stopTimeout = 15 * time.Second

// process is a program that runs.
type process struct {
	cmd   *exec.Cmd
	begun time.Time
	said  *tail
	ended chan struct{}
	err   error // what it ended with; read it after ended
}

// startProcess runs the program with this environment and none of ours. begun is
// taken before the process is made. In a group of its own, it does not get the
// terminal's interrupt: who started it stops it.
func startProcess(log io.Writer, env []string, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), said: &tail{}, ended: make(chan struct{})}
	p.cmd.Env = env
	out := io.MultiWriter(p.said, log)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.begun = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process and waits for it. One that ended before, that does not
// end, or that ends with another exit code than 0 is an error.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s had ended: %w", p.cmd.Path, orExitedEarly(p.err))
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", p.cmd.Path, err)
	}
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		err := p.cmd.Process.Kill()
		<-p.ended
		return errors.Join(fmt.Errorf("%s did not end within %s of SIGTERM and was killed", p.cmd.Path, stopTimeout), err)
	}
	if p.err != nil {
		return fmt.Errorf("%s ended with %w", p.cmd.Path, p.err)
	}
	return nil
}

func orExitedEarly(err error) error {
	if err == nil {
		return errors.New("exit code 0, without being told to")
	}
	return err
}

func (p *process) lastWords() string { return p.said.String() }

// tailSize is how much a tail keeps, in bytes.
const tailSize = 4096

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
