// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// answers returns nil once the daemon has taken its limits, as the first of the
// commands that it takes.
func (d *daemon) answers(ctx context.Context, limits []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Start, fmt.Errorf("it does not answer within %s", d.cfg.Start))
	defer cancel()
	socket := filepath.Join(d.pipe, "control")
	last := errors.New("it has not made its socket")
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		if _, err := os.Lstat(socket); err == nil {
			_, err := d.child.say(ctx, d.cfg.Command, append([]string{probe}, limits...)...)
			if err == nil {
				return nil
			}
			if _, last = d.child.say(ctx, d.cfg.Command, probe); last == nil {
				return fmt.Errorf("set its limits: %w", err)
			}
		}
		d.doing("wait until it answers: " + last.Error())
		select {
		case <-d.child.done:
			return d.child.ended()
		case <-ctx.Done():
			return fmt.Errorf("wait until it answers: %w: %w", context.Cause(ctx), last)
		case <-time.After(wait):
		}
	}
}

// probe is a command that every daemon takes and that changes nothing.
const probe = "get_default_active_thread_percentage"

// serveAll starts the server of a daemon for several users, so that it has the
// GPU, which may be for one process only, before any client or anybody else.
func (d *daemon) serveAll(ctx context.Context) error {
	if !d.settings.MultiUser {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Command, fmt.Errorf("no server within %s", d.cfg.Command))
	defer cancel()
	if _, err := d.child.say(ctx, d.cfg.Command, "start_server -uid 0"); err != nil {
		return fmt.Errorf("start its server: %w", err)
	}
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		pid, err := d.activeServer(ctx)
		if err == nil {
			return d.keep(pid)
		}
		if errors.Is(err, errNotTaken) {
			return err
		}
		select {
		case <-d.child.done:
			return d.child.ended()
		case <-ctx.Done():
			return fmt.Errorf("start its server: %w: %w%s", context.Cause(ctx), err, d.complaint())
		case <-time.After(wait):
		}
	}
}

// activeServer returns the first server that takes clients.
func (d *daemon) activeServer(ctx context.Context) (int, error) {
	answer, err := d.child.say(ctx, d.cfg.Command, "get_server_list")
	if err != nil {
		return 0, err
	}
	pids, err := parsePIDs(answer)
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if ready, err := d.inspect(ctx, pid); ready || err != nil {
			return pid, err
		}
	}
	return 0, errors.New("it has none that takes clients")
}

// inspect says whether a server takes clients, and fails if it does so without the
// limit that was set.
func (d *daemon) inspect(ctx context.Context, pid int) (bool, error) {
	number := strconv.Itoa(pid)
	commands := []string{"get_server_status " + number}
	limit := reading{"get_active_thread_percentage " + number, float64(d.settings.ActiveThreadPercentage), parsePercentage}
	if limit.want > 0 {
		commands = append(commands, limit.command)
	}
	answers, err := d.child.each(ctx, d.cfg.Command, commands...)
	if err != nil || parseStatus(answers[0]) != active {
		return false, err
	}
	if limit.want == 0 {
		return true, nil
	}
	return true, limit.check(answers[1])
}

// keep watches a server.
func (d *daemon) keep(pid int) error {
	s, err := watch(pid)
	if err != nil {
		return fmt.Errorf("watch its server: %w", err)
	}
	d.dismiss()
	d.server = s
	return nil
}

// complaint is the last line of the server's log.
func (d *daemon) complaint() string {
	if line := lastLine(filepath.Join(d.logs, "server.log")); line != "" {
		return "; its log says: " + oneLine(line)
	}
	return ""
}

// census counts the clients of all servers, and returns what is wrong with one.
func (d *daemon) census(ctx context.Context) (clients int, wrong string, err error) {
	answer, err := d.child.say(ctx, d.cfg.Command, "get_server_list")
	if err != nil {
		return 0, "", err
	}
	servers, err := parsePIDs(answer)
	if err != nil {
		return 0, "", fmt.Errorf("get_server_list: %w", err)
	}
	for _, pid := range servers {
		answer, err := d.child.say(ctx, d.cfg.Command, "get_client_list "+strconv.Itoa(pid))
		if err != nil {
			return 0, "", err
		}
		pids, err := parsePIDs(answer)
		if err != nil {
			return 0, "", fmt.Errorf("get_client_list: %w", err)
		}
		clients += len(pids)
		status, err := d.child.say(ctx, d.cfg.Command, "get_server_status "+strconv.Itoa(pid))
		if err != nil {
			return 0, "", err
		}
		if parseStatus(status) == fault {
			wrong = fmt.Sprintf("server %d had a fatal fault, and takes no client until those that it has are gone", pid)
		}
	}
	return clients, wrong, nil
}
