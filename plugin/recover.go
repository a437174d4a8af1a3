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

// recovery makes journal and world agree again before anything is served.
type recovery struct {
	memory Memory
	specs  Specs
	pipe   *pipeline
	fl     *flights
	// due asks for a refresh.
	due chan struct{}
	// reloaded is the era for which records were told of a new load of the driver.
	reloaded sharing.Era
}

// keep looks through the prepared claims, and does so again after the driver was
// loaded anew, until the context ends. Daemons may take minutes to come up, and the
// hardware is looked at meanwhile.
func (r *recovery) keep(ctx context.Context, prepared []sharing.Record, era func() (sharing.Era, error)) {
	r.look(ctx, prepared)
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.due:
		}
		now, err := era()
		if err == nil {
			err = r.refresh(ctx, now)
		}
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Claims prepared before the driver was loaded anew could not all be repaired; trying again")
		}
	}
}

// again asks for a refresh.
func (r *recovery) again() {
	select {
	case r.due <- struct{}{}:
	default: // one is asked for already
	}
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
	if err := r.redo(ctx, prepared); err != nil && ctx.Err() == nil {
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
	for _, uid := range unreadableFirst(r.specs, repair.Orphans) {
		if err := r.pipe.unprepare(ctx, uid); err != nil {
			log.Error(err, "A CDI spec that no claim accounts for could not be removed", "claimUID", uid)
		}
	}
}

// redo looks at what prepared claims were given and re-makes what is missing. What
// fails for one keeps none of the others waiting.
func (r *recovery) redo(ctx context.Context, recs []sharing.Record) error {
	var errs []error
	failed := 0
	for _, rec := range recs {
		// In a flight of its own, from the record as it is then: the kubelet may
		// release the claim meanwhile.
		_, err := r.fl.fly(ctx, ctx, rec.UID, mending, func(ctx context.Context) (sharing.Grant, error) {
			now, known, err := r.pipe.records.Claim(rec.UID)
			if err != nil || !known || now.State != sharing.Prepared {
				return sharing.Grant{}, err
			}
			return r.pipe.again(ctx, now)
		})
		if api.ReasonOf(err) == api.Lost {
			continue // nothing to repair: its release fences the GPU
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			continue
		}
		// The cause is often the same for all: some are enough to say.
		if failed++; failed <= 3 {
			errs = append(errs, err)
		}
	}
	if failed > len(errs) {
		errs = append(errs, fmt.Errorf("and %d more claims", failed-len(errs)))
	}
	return errors.Join(errs...)
}

// reload notes of every record that the settings of GPUs ended with the load of the
// driver. It is done once for each load: what is noted afterwards is of this one.
func (r *recovery) reload(ctx context.Context, recs []sharing.Record, now sharing.Era) error {
	if r.reloaded == now {
		return nil
	}
	for _, rec := range recs {
		_, err := r.fl.fly(ctx, ctx, rec.UID, mending, func(context.Context) (sharing.Grant, error) {
			rec, known, err := r.pipe.records.Claim(rec.UID)
			if err == nil && known && rec.Reload() {
				err = r.pipe.records.Put(rec)
			}
			return sharing.Grant{}, err
		})
		if err != nil {
			return fmt.Errorf("note that the driver was loaded anew: %w", err)
		}
	}
	r.reloaded = now
	return nil
}

// unreadableFirst puts the spec files first that cannot be read: what they are about
// is not known, and as long as they are there it may be what another one shares.
func unreadableFirst(specs Specs, uids []string) []string {
	var bad, good []string
	for _, uid := range uids {
		if _, err := specs.Trace(uid); err != nil {
			bad = append(bad, uid)
		} else {
			good = append(good, uid)
		}
	}
	return append(bad, good...)
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
	if err := r.reload(ctx, recs, now); err != nil {
		return err
	}
	if err := r.redo(ctx, prepared); err != nil {
		return err // the era is not noted: the next look tries again
	}
	return r.memory.Turn(now, nil)
}
