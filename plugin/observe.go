// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/sharing"
)

// lookEvery is how often the hardware is looked at. A GPU that comes or goes is
// published anew within two of these.
const lookEvery = 5 * time.Second

// observer keeps the world up to date with the hardware and the journal.
type observer struct {
	gpus    GPUs
	memory  Memory
	records Records
	fl      *flights
	pipe    *pipeline
	era     func() (sharing.Era, error)
	world   *world
	// unreachable says why the driver could not be reached at the last look.
	unreachable string
	summary     string
}

// look takes one look and returns the devices of the node. A driver that cannot
// be reached makes every known GPU lost: what is published stays, tainted.
func (o *observer) look(ctx context.Context) ([]sharing.Device, error) {
	now, err := o.era()
	if err != nil {
		return nil, err
	}
	known, err := o.memory.Known()
	if err != nil {
		return nil, err
	}
	before, err := o.holds(known)
	if err != nil {
		return nil, err
	}
	seen, err := o.gpus.Look(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err() // we stop; that says nothing about the GPUs
	}
	o.note(ctx, err)
	seen.Boot = now.Boot
	after, err := o.holds(known)
	if err != nil {
		return nil, err
	}
	fences, err := o.memory.Fences()
	if err != nil {
		return nil, err
	}
	suspect, err := o.memory.Suspect()
	if err != nil {
		return nil, err
	}
	devices, news := sharing.Roster(seen, known, fences, suspect)
	if len(news) > 0 {
		if err := o.memory.Remember(news); err != nil {
			return nil, fmt.Errorf("remember the GPUs of this node: %w", err)
		}
	}
	// An instance of ours has its hold from before it is made until after it is
	// destroyed: one of the two readings has it, whenever the look met it.
	sharing.Classify(devices, append(before, after...))
	o.world.set(devices)
	o.tell(ctx, devices, seen.Sick)
	return devices, nil
}

// note logs that the driver went or came, once each time.
func (o *observer) note(ctx context.Context, err error) {
	log := klog.FromContext(ctx)
	switch {
	case err != nil && err.Error() != o.unreachable:
		o.unreachable = err.Error()
		log.Info("The NVIDIA driver cannot be reached; no GPU is handed out until it can", "reason", o.unreachable)
	case err == nil && o.unreachable != "":
		o.unreachable = ""
		log.Info("The NVIDIA driver can be reached again")
	}
}

// tell logs the roster when it changed.
func (o *observer) tell(ctx context.Context, devices []sharing.Device, sick []sharing.Sick) {
	s := sharing.Summary(devices)
	for _, x := range sick {
		s += fmt.Sprintf("; unusable: %s: %s", x.Address, x.Why)
	}
	if s != o.summary {
		o.summary = s
		klog.FromContext(ctx).Info("GPUs of this node", "devices", s)
	}
}

// holds returns all holds on the GPUs that were known before.
func (o *observer) holds(known map[string]sharing.Known) ([]sharing.Hold, error) {
	var names []string
	for _, k := range known {
		names = append(names, k.Name)
	}
	return o.records.Holds(names...)
}
