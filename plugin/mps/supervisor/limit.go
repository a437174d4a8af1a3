// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
)

// limits are the defaults of a daemon: what to set, and as what it is read back.
func (d *daemon) limits() (set []string, back []reading) {
	if p := d.settings.ActiveThreadPercentage; p > 0 {
		set = append(set, fmt.Sprintf("set_default_active_thread_percentage %d", p))
		back = append(back, reading{"get_default_active_thread_percentage", float64(p), parsePercentage})
	}
	for position, mib := range d.settings.PinnedMemoryMiB {
		if mib > 0 {
			set = append(set, fmt.Sprintf("set_default_device_pinned_mem_limit %d %dM", position, mib))
			back = append(back, reading{fmt.Sprintf("get_default_device_pinned_mem_limit %d", position), float64(mib), parseMiB})
		}
	}
	return set, back
}

// reading is a command, and the answer that it is to have.
type reading struct {
	command string
	want    float64
	parse   func(string) (float64, error)
}

// errNotTaken is why a daemon must not serve.
var errNotTaken = errors.New("this driver does not take the limit")

// check compares the answer.
func (r reading) check(answer string) error {
	got, err := r.parse(answer)
	if err != nil {
		return fmt.Errorf("read its limits back: %s: %w", r.command, err)
	}
	if !same(r.want, got) {
		return fmt.Errorf("read its limits back: %s: it was set to %g and is %s; %w", r.command, r.want, oneLine(answer), errNotTaken)
	}
	return nil
}

// readBack makes sure that the daemon has the limits that were set. They are the
// defaults, which reach the servers that are started later.
func (d *daemon) readBack(ctx context.Context, all []reading) error {
	if len(all) == 0 {
		return nil
	}
	var commands []string
	for _, r := range all {
		commands = append(commands, r.command)
	}
	answers, err := d.child.each(ctx, d.cfg.Command, commands...)
	if err != nil {
		return fmt.Errorf("read its limits back: %w", err)
	}
	for i, r := range all {
		if err := r.check(answers[i]); err != nil {
			return err
		}
	}
	return nil
}
