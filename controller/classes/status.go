// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// correct returns the plan with reports that say what the API server refused or
// dropped.
func (p Plan) correct(done *outcome) Plan {
	for i, r := range p.Classes {
		if err := done.refused[r.Object.Name]; err != nil {
			p.Classes[i].Programmed = Verdict{Reason: WriteFailed, Message: fmt.Sprintf(
				"the API server refused the DeviceClass, and it is tried again: %v", err)}
		}
		if done.dropped[r.Object.Name] {
			p.Classes[i].Programmed = drop(r.Object)
		}
	}
	return p
}

// report writes the conditions that changed.
func (c *Controller) report(ctx context.Context, p Plan, done *outcome) {
	now := metav1.NewTime(c.clock.Now())
	for _, r := range p.Classes {
		after := r.Object.DeepCopy()
		after.Status.ObservedGeneration = after.Generation
		setCondition(&after.Status.Conditions, Accepted, r.Accepted, after.Generation, now)
		setCondition(&after.Status.Conditions, Programmed, r.Programmed, after.Generation, now)
		if !equality.Semantic.DeepEqual(r.Object.Status, after.Status) {
			c.write(ctx, "GPUClass", r.Object, after, done)
		}
	}
	for _, r := range p.judge(c.known.check) {
		after := r.Object.DeepCopy()
		after.Status.ObservedGeneration = after.Generation
		setCondition(&after.Status.Conditions, Accepted, r.Accepted, after.Generation, now)
		setCondition(&after.Status.Conditions, Programmed, r.Programmed, after.Generation, now)
		if !equality.Semantic.DeepEqual(r.Object.Status, after.Status) {
			c.write(ctx, "SharingPolicy", r.Object, after, done)
		}
	}
}

func (c *Controller) write(ctx context.Context, kind string, before, after client.Object, done *outcome) {
	doing := fmt.Sprintf("write the status of %s %q", kind, after.GetName())
	done.add(doing, c.client.Status().Patch(ctx, after, lock(before), client.FieldOwner(FieldOwner)))
}

// setCondition sets a condition. Its time is that of the last change from True
// to False or back.
func setCondition(conditions *[]metav1.Condition, kind string, v Verdict, generation int64, now metav1.Time) {
	status := metav1.ConditionFalse
	if v.Holds {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: kind, Status: status, Reason: v.Reason, Message: v.Message,
		ObservedGeneration: generation, LastTransitionTime: now,
	})
}
