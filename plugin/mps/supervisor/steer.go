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

// answers returns nil once the daemon takes commands.
func (d *daemon) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Start, fmt.Errorf("it does not answer within %s", d.cfg.Start))
	defer cancel()
	socket := filepath.Join(d.pipe, "control")
	last := errors.New("it has not made its socket")
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		if _, err := os.Lstat(socket); err == nil {
			if _, last = d.child.say(ctx, d.cfg.Command, "get_default_active_thread_percentage"); last == nil {
				return nil
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
			return d.keep(ctx, pid)
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
		status, err := d.child.say(ctx, d.cfg.Command, "get_server_status "+strconv.Itoa(pid))
		if err != nil {
			return 0, err
		}
		if parseStatus(status) == active {
			return pid, nil
		}
	}
	return 0, errors.New("it has none that takes clients")
}

// keep watches a server, after it was seen to have the limit that was set.
func (d *daemon) keep(ctx context.Context, pid int) error {
	if p := d.settings.ActiveThreadPercentage; p > 0 {
		if err := d.readBack(ctx, reading{"get_active_thread_percentage " + strconv.Itoa(pid), float64(p), parsePercentage}); err != nil {
			return err
		}
	}
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
