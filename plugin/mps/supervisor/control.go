// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxAnswer bounds what is read of an answer, in bytes: 60 clients of each of 64
// servers fit many times.
const maxAnswer = 64 << 10

// say runs the control program as a client of the daemon, with one command, and
// returns its answer. It sees what the daemon sees: the daemon's root directory,
// through /proc, leads into its mount namespace.
func (c *child) say(ctx context.Context, within time.Duration, words ...string) (string, error) {
	command := strings.Join(words, " ")
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %s", within))
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path)
	cmd.Env = c.env
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: "/proc/" + strconv.Itoa(c.pid) + "/root", Setsid: true}
	cmd.Stdin = strings.NewReader(command + "\n")
	out, complaint := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%q: %w", command, context.Cause(ctx))
	}
	if err != nil {
		return "", fmt.Errorf("%q: %w: %s", command, err, oneLine(out.String()+" "+complaint.String()))
	}
	if out.over {
		return "", fmt.Errorf("%q: an answer of more than %d bytes", command, maxAnswer)
	}
	return out.String(), nil
}

// bounded keeps the first part of what is written to it.
type bounded struct {
	bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxAnswer - b.Len(); len(p) > room {
		b.over = true
		b.Buffer.Write(p[:room])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// oneLine is what of an answer fits a message.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
