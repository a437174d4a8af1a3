// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/sharing"
)

// retirePatience: two minutes are longer than a scheduling cycle and a bind; all
// claims of a cluster are not listed more often than needed.
var retirePatience = sharing.Patience{Wait: 120, Again: 600}

// offers decides what is published of the node's GPUs, and remembers it: what is
// published must not be withdrawn while somebody may have it.
type offers struct {
	memory  Memory
	records Records
	claims  *claimLister
	clock   func() time.Time
	wait    sharing.Patience

	mu sync.Mutex
	// known are the shared slots that are listed, for prepares, which are not to
	// read all of them from the journal.
	known atomic.Pointer[map[string]sharing.Shared]
}

// shared returns the settings of the shared slots that are listed, by name. The map
// is not to be changed.
func (o *offers) shared() map[string]sharing.Shared {
	if m := o.known.Load(); m != nil {
		return *m
	}
	return nil
}

// recall reads from the journal what was published before.
func (o *offers) recall() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	listed, err := o.memory.Listed()
	if err != nil {
		return err
	}
	o.known.Store(new(sharing.SharedSlots(listed)))
	return nil
}

// list remembers what is published of some GPUs. o.mu is held.
func (o *offers) list(listed, news map[string][]sharing.Listed) error {
	if err := o.memory.List(news); err != nil {
		return err
	}
	all := maps.Clone(listed)
	if all == nil {
		all = map[string][]sharing.Listed{}
	}
	maps.Copy(all, news)
	o.known.Store(new(sharing.SharedSlots(all)))
	return nil
}

// update returns what is published of the devices from now on. It is in the
// journal when it returns.
func (o *offers) update(ctx context.Context, devices []sharing.Device, c sharing.Cluster, has sharing.Means) ([]sharing.Offering, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	listed, err := o.memory.Listed()
	if err != nil {
		return nil, err
	}
	now := sharing.Offerings(devices, c, sharing.Standing{Listed: listed, Has: has, Now: o.clock().Unix()})
	if news := sharing.News(listed, now); len(news) > 0 {
		if err := o.list(listed, news); err != nil {
			return nil, fmt.Errorf("remember what is published: %w", err)
		}
		tellRetiring(ctx, listed, news)
	}
	return now, nil
}

// withdraw ends the slots that have retired for long enough and that nobody has.
func (o *offers) withdraw(ctx context.Context) error {
	due := map[string][]string{}
	listed, err := o.memory.Listed()
	if err != nil {
		return err
	}
	now := o.clock().Unix()
	for address, l := range listed {
		if names := sharing.Due(l, now, o.wait); len(names) > 0 {
			due[address] = names
		}
	}
	if len(due) == 0 {
		return nil
	}
	had, err := o.claims.devices(ctx)
	if err != nil {
		return fmt.Errorf("list the claims that may have a device that is no longer offered: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if listed, err = o.memory.Listed(); err != nil {
		return err
	}
	news := map[string][]sharing.Listed{}
	for address, names := range due {
		for _, name := range names {
			holds, err := o.records.Holds(sharing.GPUOf(name))
			if err != nil {
				return err
			}
			for _, h := range holds {
				had[h.Slot] = true
			}
		}
		news[address] = sharing.Withdraw(listed[address], names, had, now)
	}
	klog.FromContext(ctx).Info("Devices that are no longer offered were looked for in all claims", "devices", due)
	return o.list(listed, news)
}

// tellRetiring logs which devices ceased to be offered.
func tellRetiring(ctx context.Context, before, now map[string][]sharing.Listed) {
	was := map[string]bool{}
	for _, listed := range before {
		for _, l := range listed {
			was[l.Name] = l.Retiring != 0
		}
	}
	var names []string
	for _, listed := range now {
		for _, l := range listed {
			if l.Retiring != 0 && !was[l.Name] {
				names = append(names, l.Name)
			}
		}
	}
	if len(names) > 0 {
		klog.FromContext(ctx).Info("Devices are no longer offered; they are withdrawn once nobody has them", "devices", names)
	}
}
