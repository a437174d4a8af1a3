// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// unfence gives back the GPUs that are set apart, once what is on them is known
// and nothing is left of claims that were released meanwhile.
func (o *observer) unfence(ctx context.Context, devices []sharing.Device) error {
	fences, err := o.memory.Fences()
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range devices {
		f, fenced := fences[d.Address]
		if !fenced || d.Condition == sharing.Lost {
			continue
		}
		free := o.free
		if f.Condition == sharing.Stuck {
			free = o.unstick
		}
		is, err := free(ctx, d)
		if err == nil && is {
			err = o.memory.Unfence(d.Address)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("give back %s: %w", d.Name, err))
		} else if is {
			klog.FromContext(ctx).Info("A GPU is back in service", "device", d.Name, "wasSetApart", f.Why)
		}
	}
	return errors.Join(errs...)
}

// free undoes what released claims still owe on the GPU, and says whether
// nothing runs on it.
func (o *observer) free(ctx context.Context, d sharing.Device) (bool, error) {
	if n, err := o.gpus.Processes(ctx, d.Address); err != nil || n > 0 {
		return false, nil // it is not known to be free, or known not to be
	}
	holds, err := o.records.Holds(d.Name)
	if err != nil {
		return false, err
	}
	for _, h := range holds {
		err := o.settleOwed(ctx, h.Claim)
		if api.ReasonOf(err) == api.InUse {
			return false, nil // something that is no process; the next look tries again
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// settleOwed goes on with a release that could not reach the hardware. A claim in
// any other state is the kubelet's to release.
func (o *observer) settleOwed(ctx context.Context, uid string) error {
	_, err := o.fl.fly(ctx, ctx, uid, mending, func(ctx context.Context) (sharing.Grant, error) {
		rec, known, err := o.records.Claim(uid)
		if err != nil || !known || rec.State != sharing.Releasing {
			return sharing.Grant{}, err
		}
		return sharing.Grant{}, o.pipe.settle(ctx, rec)
	})
	return err
}

// unstick tries again to switch MIG mode off, unless a partition is held by now.
// The fence is the record of that intent.
func (o *observer) unstick(ctx context.Context, d sharing.Device) (bool, error) {
	unlock, err := o.pipe.locks.take(ctx, []string{d.Address})
	if err != nil {
		return false, err
	}
	defer unlock()
	holds, err := o.records.Holds(d.Name)
	if err != nil || len(holds) > 0 {
		return false, err
	}
	_, _, err = o.pipe.run.do(ctx, sharing.SwitchMIG{Address: d.Address}, nil)
	if r := api.ReasonOf(err); r == api.InUse || r == api.Held {
		return false, nil // the reason is in the fence; the next look tries again
	}
	return err == nil, err
}
