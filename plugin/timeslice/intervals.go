// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package timeslice

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
)

// Intervals are those of the GPUs of one driver.
type Intervals struct {
	root string
	load func() string

	mu sync.Mutex
	// under is the load of the driver that the rest was learnt under.
	under string
	gpus  map[string]*gpu // by UUID
}

// gpu is one GPU. Its mutex lets one nvidia-smi at a time run about it.
type gpu struct {
	sync.Mutex
	// last is what the interval was when it was last read or set; "" if never.
	last nvidia.Interval
	// asked: it is known whether there is one; none is why not.
	asked bool
	none  error
	// failed is when it could last not be found out.
	failed time.Time
}

// retry is how long a question that failed is not asked again: the program may hang.
const retry = time.Minute

// New returns the intervals of the driver that is installed below root. load returns
// the id of its present load.
func New(root string, load func() string) *Intervals { return &Intervals{root: root, load: load} }

func (v *Intervals) of(uuid string) *gpu {
	v.mu.Lock()
	defer v.mu.Unlock()
	if load := v.load(); v.gpus == nil || load != v.under {
		v.under, v.gpus = load, map[string]*gpu{}
	}
	g := v.gpus[uuid]
	if g == nil {
		g = &gpu{}
		v.gpus[uuid] = g
	}
	return g
}

// Supports returns nil when the GPU's interval can be set, as far as is known. It
// asks once for each load of the driver, and what fails again after a minute.
// api.Unsupported: it cannot.
func (v *Intervals) Supports(ctx context.Context, uuid string) error {
	g := v.of(uuid)
	g.Lock()
	defer g.Unlock()
	if !g.asked && time.Since(g.failed) > retry {
		if _, err := v.read(ctx, g, uuid); err != nil && !g.asked {
			g.failed = time.Now()
			return err
		}
	}
	return g.none
}

// Interval returns the interval that the GPU has now. api.Unsupported: it has none.
func (v *Intervals) Interval(ctx context.Context, uuid string) (nvidia.Interval, error) {
	g := v.of(uuid)
	g.Lock()
	defer g.Unlock()
	return v.read(ctx, g, uuid)
}

func (v *Intervals) read(ctx context.Context, g *gpu, uuid string) (nvidia.Interval, error) {
	out, err := v.run(ctx, "compute-policy", "-i", uuid, "-l")
	var is nvidia.Interval
	if err == nil {
		is, err = interval(out)
	}
	if err != nil && api.ReasonOf(err) != api.Unsupported {
		return "", err
	}
	g.asked, g.none = true, err
	if err != nil {
		return "", err
	}
	g.last = is
	return is, nil
}

// SetInterval makes the interval what is asked, unless it was that when it was last
// read or set: the second to share a GPU does not wait for a program.
func (v *Intervals) SetInterval(ctx context.Context, uuid string, i nvidia.Interval) error {
	g := v.of(uuid)
	g.Lock()
	defer g.Unlock()
	if g.last == i {
		return nil
	}
	if _, err := v.run(ctx, "compute-policy", "-i", uuid, "--set-timeslice", strconv.Itoa(i.Level())); err != nil {
		g.last = ""
		return fmt.Errorf("set it to %s: %w", i, err)
	}
	g.last = i
	return nil
}
