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
	gpus   GPUs
	memory Memory
	era    func() (sharing.Era, error)
	world  *world
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
	seen, err := o.gpus.Look(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err() // we stop; that says nothing about the GPUs
	}
	o.note(ctx, err)
	seen.Boot = now.Boot
	known, err := o.memory.Known()
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

// unfence gives back the fenced GPUs that answer and that no process uses.
func (o *observer) unfence(ctx context.Context, devices []sharing.Device) error {
	fences, err := o.memory.Fences()
	if err != nil {
		return err
	}
	for _, d := range devices {
		if _, fenced := fences[d.Address]; !fenced || d.Condition == sharing.Lost {
			continue
		}
		n, err := o.gpus.Processes(ctx, d.Address)
		if err != nil || n > 0 {
			continue // not known to be free
		}
		if err := o.memory.Unfence(d.Address); err != nil {
			return err
		}
		klog.FromContext(ctx).Info("A GPU is back in service: it answers and nothing runs on it", "device", d.Name, "wasSetApart", d.Why)
	}
	return nil
}
