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
	"unicode"
)

// maxAnswer bounds what is read of an answer, in bytes: 60 clients of each of 64
// servers fit many times.
const maxAnswer = 64 << 10

// each asks for one answer to each command, of one line. A daemon that takes
// several commands at a time, as one is asked that somebody types at, saves a
// process for each but the first.
func (c *child) each(ctx context.Context, within time.Duration, commands ...string) ([]string, error) {
	together, err := c.say(ctx, within, commands...)
	if lines := strings.Split(strings.TrimSpace(together), "\n"); err != nil || len(lines) == len(commands) {
		return lines, err
	}
	var out []string
	for _, command := range commands {
		answer, err := c.say(ctx, within, command)
		if err != nil {
			return nil, err
		}
		out = append(out, answer)
	}
	return out, nil
}

// say runs the control program as a client of the daemon, with some commands, and
// returns what it answers. It sees what the daemon sees: the daemon's root
// directory, through /proc, leads into its mount namespace.
func (c *child) say(ctx context.Context, within time.Duration, commands ...string) (string, error) {
	command := strings.Join(commands, "\n")
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
	if err != nil && c.endsNow() {
		return "", c.ended()
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(commands, ", "), context.Cause(ctx))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(commands, ", "), err, oneLine(out.String()+" "+complaint.String()))
	}
	if out.over {
		return "", fmt.Errorf("%s: an answer of more than %d bytes", strings.Join(commands, ", "), maxAnswer)
	}
	return out.String(), nil
}

// bounded keeps the first part of what is written to it.
type bounded struct {
	kept bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(len(p), maxAnswer-b.kept.Len())
	b.over = b.over || room < len(p)
	b.kept.Write(p[:room])
	return len(p), nil
}

func (b *bounded) String() string { return b.kept.String() }

// oneLine is what of an answer fits a message.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// maxShown is how much of an answer is repeated in a message, in bytes.
const maxShown = 200
