// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// findVacant refuses a place where an instance lies that no record accounts for:
// somebody made it since the last look.
func (r runner) findVacant(ctx context.Context, at sharing.Place, facts sharing.Facts) (string, sharing.Fact, error) {
	if _, begun := facts[at.Slot]; begun {
		return "", sharing.Fact{}, nil // the place was empty, and what is there now is the claim's
	}
	_, there, err := r.gpus.Instance(ctx, at.Address, at.Partition)
	if err == nil && there {
		err = taken(at)
	}
	if err != nil {
		return "", sharing.Fact{}, err
	}
	return at.Slot, sharing.Fact{GI: sharing.Vacant}, nil
}

func taken(at sharing.Place) error {
	return api.Errorf(api.Held, "somebody has made a MIG instance in the place of %s; see nvidia-smi mig -lgi", at.Slot)
}

// createGPUInstance makes the instance, or, where the record says that it was
// made already, makes sure that it is still there. It is never made a second
// time: what a container was given is gone then.
func (r runner) createGPUInstance(ctx context.Context, at sharing.Place, facts sharing.Facts) (string, sharing.Fact, error) {
	known, ok := facts[at.Slot]
	if !ok {
		return "", sharing.Fact{}, api.Errorf(api.Internal, "nobody looked whether the place of %s is empty", at.Slot)
	}
	if known.GI != sharing.Vacant {
		inst, there, err := r.gpus.Instance(ctx, at.Address, at.Partition)
		if err == nil && (!there || !same(inst, known)) {
			err = gone(at, known)
		}
		return "", sharing.Fact{}, err
	}
	gi, err := r.gpus.CreateGPUInstance(ctx, at.Address, at.Partition)
	if api.ReasonOf(err) == api.Held {
		// Whatever lies there now is not ours.
		return at.Slot, sharing.Fact{}, fmt.Errorf("create the GPU instance of %s: %w", at.Slot, err)
	}
	if err != nil {
		return "", sharing.Fact{}, fmt.Errorf("create the GPU instance of %s: %w", at.Slot, err)
	}
	return at.Slot, sharing.Fact{GI: gi}, nil
}

func (r runner) createComputeInstance(ctx context.Context, at sharing.Place, facts sharing.Facts) (string, sharing.Fact, error) {
	known, ok := facts[at.Slot]
	if !ok || known.GI == sharing.Vacant {
		return "", sharing.Fact{}, api.Errorf(api.Internal, "no GPU instance is recorded for %s", at.Slot)
	}
	if known.UUID != "" {
		return "", sharing.Fact{}, nil // looked at together with its GPU instance
	}
	fact, err := r.gpus.CreateComputeInstance(ctx, at.Address, known.GI)
	if err != nil {
		return "", sharing.Fact{}, fmt.Errorf("create the compute instance of %s: %w", at.Slot, err)
	}
	return at.Slot, fact, nil
}

// findInstance learns of an instance that others made. A tenant's must be the
// one that was granted at first; an admin sees whatever is there.
func (r runner) findInstance(ctx context.Context, s sharing.FindInstance, facts sharing.Facts) (string, sharing.Fact, error) {
	inst, there, err := r.gpus.Instance(ctx, s.Address, s.Partition)
	if err != nil {
		return "", sharing.Fact{}, err
	}
	known, had := facts[s.Slot]
	fits := there && inst.UUID != ""
	if s.Optional {
		if !fits {
			return "", sharing.Fact{}, nil
		}
		return s.Slot, fact(inst), nil
	}
	if !fits || had && !same(inst, known) {
		return "", sharing.Fact{}, gone(s.Place, known)
	}
	return s.Slot, fact(inst), nil
}

// destroy takes a partition back: by what was noted of it, or, when its process
// died before it could note the id, by where it is. Where the place was not even
// found empty nothing was made. An instance of another id or UUID than the noted
// one is somebody else's.
func (r runner) destroy(ctx context.Context, at sharing.Place, facts sharing.Facts) error {
	known, begun := facts[at.Slot]
	if !begun {
		return nil
	}
	inst, there, err := r.gpus.Instance(ctx, at.Address, at.Partition)
	if err != nil || !there {
		return err
	}
	renamed := known.UUID != "" && inst.UUID != "" && inst.UUID != known.UUID
	if renamed || known.GI != sharing.Vacant && known.GI != inst.GI {
		klog.FromContext(ctx).Info("The MIG instance of a claim was replaced by somebody; it is left alone", "device", at.Slot, "was", known.UUID, "is", inst.UUID)
		return nil
	}
	err = r.patiently(ctx, func() error { return r.gpus.DestroyInstance(ctx, at.Address, inst.GI) })
	if err != nil {
		return fmt.Errorf("destroy the MIG instance of %s: %w", at.Slot, err)
	}
	return nil
}

// switchOff takes the mode back after a partition. A GPU that does not let go of
// it keeps no claim from being released: it stays fit for partitions, and a
// fence keeps whole-GPU claims away until the switch has succeeded.
func (r runner) switchOff(ctx context.Context, s sharing.SwitchMIG) *sharing.Fence {
	if !s.On {
		return nil // it was made what a whole GPU is; nothing to take back
	}
	err := r.patiently(ctx, func() error { return r.gpus.SwitchMIG(ctx, s.Address, false) })
	if err == nil || api.ReasonOf(err) == api.Held {
		return nil // the second: it was not the last partition
	}
	klog.FromContext(ctx).Error(err, "MIG mode could not be switched off after the last partition; it is tried again", "gpu", s.Address)
	fence := sharing.StuckFence(s.Address, err)
	return &fence
}

func fact(i sharing.Instance) sharing.Fact {
	return sharing.Fact{GI: i.GI, CI: i.CI, UUID: i.UUID}
}

// same says whether an instance is the one that was noted. A compute instance
// that was not noted yet may be missing.
func same(i sharing.Instance, f sharing.Fact) bool {
	return i.GI == f.GI && (f.UUID == "" || i.UUID == f.UUID && i.CI == f.CI)
}

func gone(at sharing.Place, was sharing.Fact) error {
	return api.Errorf(api.Lost, "the MIG instance behind %s (%s) is no longer there: somebody destroyed it, or the driver was loaded anew; delete the pod to have it scheduled again", at.Slot, was.UUID)
}
