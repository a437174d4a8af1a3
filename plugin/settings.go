// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/sharing"
)

// noteComputeMode learns what the mode is, unless that was noted before: by then it
// may be ours.
func (r runner) noteComputeMode(ctx context.Context, s sharing.NoteComputeMode, facts sharing.Facts) (string, sharing.Fact, error) {
	if _, noted := facts.ComputeMode(s.Address); noted {
		return "", sharing.Fact{}, nil
	}
	was, err := r.gpus.ComputeMode(ctx, s.Address)
	if err != nil {
		return "", sharing.Fact{}, fmt.Errorf("read the compute mode of the GPU at %s: %w", s.Address, err)
	}
	key, fact := sharing.WasComputeMode(s.Address, was)
	return key, fact, nil
}

func (r runner) setComputeMode(ctx context.Context, s sharing.SetComputeMode, facts sharing.Facts) error {
	if _, noted := facts.ComputeMode(s.Address); !noted {
		return api.Errorf(api.Internal, "nobody noted what the compute mode of the GPU at %s was", s.Address)
	}
	return r.makeComputeMode(ctx, s.Address, s.Mode)
}

// restoreComputeMode makes the mode what it was. Where that was not noted, nothing
// was changed. A GPU that has no compute mode any more, since somebody switched MIG
// mode on, has none to restore.
func (r runner) restoreComputeMode(ctx context.Context, s sharing.SetComputeMode, facts sharing.Facts) error {
	was, noted := facts.ComputeMode(s.Address)
	if !noted {
		return nil
	}
	err := r.makeComputeMode(ctx, s.Address, was)
	if api.ReasonOf(err) == api.Unsupported {
		klog.FromContext(ctx).Info("The compute mode of a GPU cannot be restored any more", "gpu", s.Address, "was", was, "reason", err.Error())
		return nil
	}
	return err
}

// makeComputeMode sets the mode where it is another one.
func (r runner) makeComputeMode(ctx context.Context, address string, want sharing.ComputeMode) error {
	is, err := r.gpus.ComputeMode(ctx, address)
	if err == nil && is != want {
		err = r.gpus.SetComputeMode(ctx, address, want)
	}
	if err != nil {
		return fmt.Errorf("make the compute mode of the GPU at %s %s: %w", address, want, err)
	}
	return nil
}

// noteInterval learns what the interval is, likewise. A GPU that has none is one
// whose interval was "".
func (r runner) noteInterval(ctx context.Context, s sharing.NoteInterval, facts sharing.Facts) (string, sharing.Fact, error) {
	if _, noted := facts.Interval(s.Address); noted {
		return "", sharing.Fact{}, nil
	}
	was, err := r.intervals.Interval(ctx, s.UUID)
	if api.ReasonOf(err) == api.Unsupported {
		was, err = "", nil
	}
	if err != nil {
		return "", sharing.Fact{}, fmt.Errorf("read the time-slice interval of %s: %w", s.UUID, err)
	}
	key, fact := sharing.WasInterval(s.Address, was)
	return key, fact, nil
}

// setInterval sets the interval. Who asks for the default one gets it from a GPU
// that has no other.
func (r runner) setInterval(ctx context.Context, s sharing.SetInterval, facts sharing.Facts) error {
	was, noted := facts.Interval(s.Address)
	switch {
	case !noted:
		return api.Errorf(api.Internal, "nobody noted what the time-slice interval of %s was", s.UUID)
	case was == "" && s.Interval == nvidia.Default:
		klog.FromContext(ctx).Info("A GPU has no time-slice interval to set; its processes take turns of the driver's own length", "gpu", s.UUID)
		return nil
	case was == "":
		return api.Errorf(api.Unsupported, "the time-slice interval of %s cannot be set to %s: not supported by this GPU or its driver; ask for no interval, or for Default", s.UUID, s.Interval)
	}
	if err := r.intervals.SetInterval(ctx, s.UUID, s.Interval); err != nil {
		return fmt.Errorf("set the time-slice interval of %s to %s: %w", s.UUID, s.Interval, err)
	}
	return nil
}

// restoreInterval makes the interval what it was.
func (r runner) restoreInterval(ctx context.Context, s sharing.SetInterval, facts sharing.Facts) error {
	was, noted := facts.Interval(s.Address)
	if !noted || was == "" {
		return nil
	}
	err := r.intervals.SetInterval(ctx, s.UUID, was)
	if api.ReasonOf(err) == api.Unsupported {
		klog.FromContext(ctx).Info("The time-slice interval of a GPU cannot be restored", "gpu", s.UUID, "was", was, "reason", err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("restore the time-slice interval of %s to %s: %w", s.UUID, was, err)
	}
	return nil
}

// startWithin is how long a daemon may take to serve. The kubelet's calls end
// before; they are answered meanwhile, and its next one joins the wait. askAgain is
// between two questions to a supervisor that does not keep them waiting any longer.
const (
	startWithin = 2 * time.Minute
	askAgain    = 50 * time.Millisecond
)

func (r runner) startMPS(ctx context.Context, s sharing.StartMPS, facts sharing.Facts) error {
	want, err := s.Wanted(facts)
	if err != nil {
		return err
	}
	doing(ctx, "starting the MPS control daemon "+want.ID)
	within, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		err = r.daemons.Ensure(within, want)
		if api.ReasonOf(err) != api.Pending || within.Err() != nil {
			break
		}
		select {
		case <-within.Done():
		case <-time.After(askAgain):
		}
	}
	if err != nil && ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded) {
		err = api.Errorf(api.Unavailable, "it does not serve after %s (%w); see the log of cotenant-mps on this node", startWithin, err)
	}
	if err != nil {
		return fmt.Errorf("start the MPS control daemon %s: %w", want.ID, err)
	}
	return nil
}

// stopWithin bounds the end of a daemon: its server has to let go of the GPU.
const stopWithin = 25 * time.Second

func (r runner) stopMPS(ctx context.Context, s sharing.StartMPS) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	err := r.patiently(ctx, func() error { return r.daemons.Stop(ctx, s.Daemon) })
	if err != nil {
		return fmt.Errorf("stop the MPS control daemon %s: %w", s.Daemon, err)
	}
	return nil
}
