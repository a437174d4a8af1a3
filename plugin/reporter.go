// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// reporter writes the node's GPUNode, an event for each MIG instance that somebody
// else made, and one for each claim whose MPS control daemon ended. The API server's answers hold up nobody.
type reporter struct {
	kinds  Kinds
	client kubernetes.Interface
	node   string
	// news has the newest report that was not taken yet.
	news chan v1alpha1.GPUNodeStatus
	// faults are those that nobody was told of yet.
	faults chan neighbourFault
}

// fault hands over a fault. Where the API server takes none for long, the oldest
// are told and the newest are in the log.
func (r *reporter) fault(ctx context.Context, f neighbourFault) {
	select {
	case r.faults <- f:
	default:
		klog.FromContext(ctx).Info("A claim is not told of a fault: the API server does not keep up", "claim", f.claim.Who(), "daemon", f.daemon)
	}
}

// tell hands over a report in place of one that was not taken yet. It is called
// by one goroutine at a time.
func (r *reporter) tell(news v1alpha1.GPUNodeStatus) {
	select {
	case <-r.news:
	default:
	}
	r.news <- news
}

// run writes what changed until the context ends.
func (r *reporter) run(ctx context.Context) {
	var written *v1alpha1.GPUNodeStatus
	failing := ""
	for {
		var news v1alpha1.GPUNodeStatus
		select {
		case <-ctx.Done():
			return
		case f := <-r.faults:
			if err := r.tellFault(ctx, f); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Info("A claim could not be told of a fault", "claim", f.claim.Who(), "daemon", f.daemon, "reason", err.Error())
			}
			continue
		case news = <-r.news:
		}
		if written != nil && equality.Semantic.DeepEqual(*written, news) {
			continue
		}
		if err := r.write(ctx, news); err != nil {
			if ctx.Err() == nil && err.Error() != failing {
				failing = err.Error()
				klog.FromContext(ctx).Info("Cannot report the state of this node; every look tries again", "reason", failing)
			}
			continue
		}
		written, failing = &news, ""
	}
}

// writeWithin bounds one report.
const writeWithin = 10 * time.Second

func (r *reporter) write(ctx context.Context, s v1alpha1.GPUNodeStatus) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	if err := r.kinds.Report(ctx, r.node, s); err != nil {
		return err
	}
	for _, g := range s.GPUs {
		for _, i := range g.Instances {
			if err := r.foreign(ctx, g, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// foreign writes one event for an instance, whose name says which: however often
// it is seen, also after a restart, there is one.
func (r *reporter) foreign(ctx context.Context, g v1alpha1.NodeGPU, i v1alpha1.ForeignInstance) error {
	id := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %d %s", r.node, g.UUID, i.Profile, i.Start, i.UUID))
	use := "nothing uses it"
	if i.InUse {
		use = "processes use it that no claim accounts for"
	}
	return r.event(ctx, corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion().String(), Kind: "GPUNode", Name: r.node},
		"foreign-instance-"+hex.EncodeToString(id[:8]), "ForeignInstance",
		fmt.Sprintf("%s has a MIG instance %s at %d that this driver did not make; %s. It is never destroyed; what overlaps it is not offered.", g.Name, i.Profile, i.Start, use))
}

// tellFault writes one event for each restart to each claim.
func (r *reporter) tellFault(ctx context.Context, f neighbourFault) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	id := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %s", r.node, f.daemon, f.claim.UID, f.death))
	claim := corev1.ObjectReference{APIVersion: resourceapi.SchemeGroupVersion.String(), Kind: "ResourceClaim", Namespace: f.claim.Namespace, Name: f.claim.Name, UID: types.UID(f.claim.UID)}
	return r.event(ctx, claim, "mps-fault-"+hex.EncodeToString(id[:8]), "GPUNeighbourFault",
		fmt.Sprintf("The MPS control daemon on %s ended (%s) and is started anew with the same limits; every client there lost its CUDA context. Restart the containers that use this claim.", r.node, cmp.Or(f.why, "no reason is known")))
}

// event writes a warning whose name says what it is about: however often it is told
// there is one.
func (r *reporter) event(ctx context.Context, about corev1.ObjectReference, name, reason, message string) error {
	namespace := cmp.Or(about.Namespace, metav1.NamespaceDefault)
	now := metav1.Now()
	_, err := r.client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: name},
		InvolvedObject: about,
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: api.DriverName, Host: r.node}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
