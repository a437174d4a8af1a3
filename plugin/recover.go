// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// recovery makes journal and world agree again before anything is served.
type recovery struct {
	memory Memory
	specs  Specs
	pipe   *pipeline
	fl     *flights
}

// run gathers, decides, and carries out. What fails for one claim does not stop
// the others and does not stop the start: its record stays, and the next call
// for it settles or repairs it. It returns the claims that are prepared, for look.
func (r *recovery) run(ctx context.Context, now sharing.Era) ([]sharing.Record, error) {
	recs, err := r.memory.Claims()
	if err != nil {
		return nil, err
	}
	before, err := r.memory.Era()
	if err != nil {
		return nil, err
	}
	suspect, err := r.memory.Suspect()
	if err != nil {
		return nil, err
	}
	specs, err := r.specs.List()
	if err != nil {
		return nil, err
	}
	if before.Boot == now.Boot && before.Load != now.Load {
		for i := range recs {
			if recs[i].Reload() {
				if err := r.pipe.records.Put(recs[i]); err != nil {
					return nil, err
				}
			}
		}
	}
	repair := sharing.Recover(recs, sharing.Seen{SameBoot: before.Boot == now.Boot, Specs: specs})
	if suspect != "" {
		repair.Orphans = nil // they tell reclaim which claims were prepared
	}
	if before != now {
		if err := r.memory.Turn(now, repair.Forget); err != nil {
			return nil, err
		}
	}
	r.carryOut(ctx, repair)
	return repair.Redo, nil
}

// look goes through the prepared claims once the node is served: each repeat of
// a prepare looks at its own claim, this is for those that nobody asks for.
func (r *recovery) look(ctx context.Context, prepared []sharing.Record) {
	if err := r.redo(ctx, prepared, false); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Prepared claims could not be repaired; they are looked at again when the kubelet asks for them")
	}
}

func (r *recovery) carryOut(ctx context.Context, repair sharing.Repair) {
	log := klog.FromContext(ctx)
	if n := len(repair.Forget); n > 0 {
		log.Info("The node was rebooted: claims prepared before are forgotten", "claims", n)
	}
	for _, rec := range repair.Undo {
		if err := r.pipe.settle(ctx, rec); err != nil {
			log.Error(err, "An unfinished claim could not be undone; its devices stay held until the next try", "claim", rec.Namespace+"/"+rec.Name, "claimUID", rec.UID)
		}
	}
	for _, uid := range repair.Orphans {
		if err := r.pipe.unprepare(ctx, uid); err != nil {
			log.Error(err, "A CDI spec that no claim accounts for could not be removed", "claimUID", uid)
		}
	}
}

// redo looks at what prepared claims were given and re-makes what is missing.
// reloaded says that the driver was loaded anew since.
func (r *recovery) redo(ctx context.Context, recs []sharing.Record, reloaded bool) error {
	var errs []error
	for _, rec := range recs {
		// In a flight of its own, from the record as it is then: the kubelet may
		// release the claim meanwhile.
		_, err := r.fl.fly(ctx, ctx, rec.UID, mending, func(ctx context.Context) (sharing.Grant, error) {
			now, known, err := r.pipe.records.Claim(rec.UID)
			if err != nil || !known || now.State != sharing.Prepared {
				return sharing.Grant{}, err
			}
			if reloaded && now.Reload() {
				if err := r.pipe.records.Put(now); err != nil {
					return sharing.Grant{}, err
				}
			}
			return r.pipe.again(ctx, now)
		})
		if api.ReasonOf(err) == api.Lost {
			continue // nothing to repair: its release fences the GPU
		}
		if err != nil {
			errs = append(errs, err)
		}
		if len(errs) > 3 || ctx.Err() != nil {
			break // the cause is the same for all, one log line is enough
		}
	}
	return errors.Join(errs...)
}

// refresh redoes every prepared claim, after the driver was loaded anew: the
// files that specs name carry its version.
func (r *recovery) refresh(ctx context.Context, now sharing.Era) error {
	before, err := r.memory.Era()
	if err != nil || before == now {
		return err
	}
	recs, err := r.memory.Claims()
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("The NVIDIA driver was loaded anew: the specs of prepared claims are made again", "claims", len(recs))
	var prepared []sharing.Record
	for _, rec := range recs {
		if rec.State == sharing.Prepared {
			prepared = append(prepared, rec)
		}
	}
	if err := r.redo(ctx, prepared, true); err != nil {
		return err // the era is not noted: the next look tries again
	}
	return r.memory.Turn(now, nil)
}
