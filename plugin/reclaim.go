// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// reclaim rebuilds the records of a journal that was lost, from the claims in
// the API server, the spec files on this node and the processes on its GPUs.
// Until it has succeeded once, every GPU is held.
type reclaim struct {
	claims *claimLister
	memory Memory
	gpus   GPUs
	specs  Specs
	pipe   *pipeline
	fl     *flights
	world  *world
}

// run does nothing unless the journal is suspect. It may be repeated.
func (r *reclaim) run(ctx context.Context) error {
	why, err := r.memory.Suspect()
	if err != nil || why == "" || ctx.Err() != nil {
		return err
	}
	claims, err := r.allocated(ctx)
	if err != nil {
		return fmt.Errorf("list the claims of this node to rebuild the lost records: %w", err)
	}
	written, err := r.specs.List()
	if err != nil {
		return err
	}
	var errs []error
	adopted := map[string]bool{}
	for _, c := range claims {
		if !slices.Contains(written, c.UID) {
			continue // never prepared, or released: the kubelet will ask
		}
		// In a flight of its own: the kubelet may release the claim meanwhile.
		_, err := r.fl.fly(ctx, ctx, c.UID, mending, func(context.Context) (sharing.Grant, error) {
			return sharing.Grant{}, r.adopt(c)
		})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		adopted[c.UID] = true
	}
	wanted := map[string]bool{}
	for _, c := range claims {
		wanted[c.UID] = true
	}
	var fences []sharing.Fence
	for _, uid := range unreadableFirst(r.specs, written) {
		if wanted[uid] {
			continue
		}
		still, err := r.end(ctx, uid)
		if err != nil {
			errs = append(errs, err)
		}
		fences = append(fences, still...)
	}
	// What is not known of one claim keeps all GPUs held, and is no reason to leave
	// the others as they are.
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	doubts, err := r.doubts(ctx)
	if err != nil {
		return err
	}
	fences = append(fences, doubts...)
	if err := r.memory.Trust(fences...); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Lost records were rebuilt", "reason", why, "claims", len(adopted), "gpusStillHeld", len(fences))
	return nil
}

// adopt records a claim that was prepared before the journal was lost. Its steps
// are run again when it is next asked for, and at the next start.
func (r *reclaim) adopt(c sharing.Claim) error {
	if _, known, err := r.pipe.records.Claim(c.UID); err != nil || known {
		return err
	}
	written, err := r.specs.List()
	if err != nil || !slices.Contains(written, c.UID) {
		return err // released meanwhile
	}
	trace, err := r.specs.Trace(c.UID)
	if err != nil {
		return fmt.Errorf("rebuild the record of claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	rec, err := r.pipe.acquire(c, sharing.Adoptable(r.world.byName(), trace.Made), trace)
	if err != nil {
		// The GPU may only be away for now. Nothing is handed out until it is
		// back, or until the claim is gone.
		return fmt.Errorf("rebuild the record of claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	for key, fact := range trace.Facts() {
		rec.Learn(key, fact)
	}
	rec.State = sharing.Prepared
	return r.pipe.records.Put(rec)
}

// end takes back what a claim was given that is no longer there. Partitions that
// are still in use are recorded by then; their GPUs are fenced until they are gone.
func (r *reclaim) end(ctx context.Context, uid string) ([]sharing.Fence, error) {
	trace, _ := r.specs.Trace(uid) // what cannot be read tells nothing
	err := r.pipe.unprepare(ctx, uid)
	if api.ReasonOf(err) != api.InUse {
		return nil, err
	}
	var fences []sharing.Fence
	for _, m := range trace.Made {
		fences = append(fences, sharing.Fence{Address: m.Address, Condition: sharing.Held,
			Why: fmt.Sprintf("the journal was lost, and %s, which was made for a claim that is gone, is still in use", m.Slot)})
	}
	for _, c := range trace.Changed {
		fences = append(fences, sharing.Fence{Address: c.Address, Condition: sharing.Held,
			Why: "the journal was lost, and what was started on it for a claim that is gone is still in use"})
	}
	return fences, nil
}

// doubts returns a fence for each GPU that processes run on and that no record
// accounts for, and for each of which a release is not done: nobody else asks for it
// again.
func (r *reclaim) doubts(ctx context.Context) ([]sharing.Fence, error) {
	var fences []sharing.Fence
	for _, d := range r.world.byName() {
		holds, err := r.pipe.records.Holds(d.Name)
		if err != nil {
			return nil, err
		}
		for _, h := range holds {
			rec, _, err := r.pipe.records.Claim(h.Claim)
			if err != nil {
				return nil, err
			}
			if rec.State == sharing.Releasing {
				fences = append(fences, sharing.Fence{Address: d.Address, Condition: sharing.Held,
					Why: fmt.Sprintf("the journal was lost, and the release of %s by claim %s is not done", h.Slot, rec.Who())})
				break
			}
		}
		if len(holds) > 0 || d.Condition == sharing.Lost {
			continue
		}
		n, err := r.gpus.Processes(ctx, d.Address)
		if err != nil {
			return nil, fmt.Errorf("look for processes on %s: %w", d.Name, err)
		}
		if n > 0 {
			fences = append(fences, sharing.Fence{Address: d.Address, Condition: sharing.Held,
				Why: fmt.Sprintf("the journal was lost, and %d processes use it that no claim accounts for", n)})
		}
	}
	return fences, nil
}

// allocated returns the claims with a result of this node, as we decode them.
func (r *reclaim) allocated(ctx context.Context) ([]sharing.Claim, error) {
	var claims []sharing.Claim
	err := r.claims.each(ctx, func(rc *resourceapi.ResourceClaim) {
		if c, err := decode(rc, r.pipe.pool); err == nil && len(c.Asks) > 0 {
			claims = append(claims, c)
		}
	})
	return claims, err
}
