// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// reporter writes the node's GPUNode, and an event for each MIG instance that
// somebody else made. The API server's answers hold up nobody.
type reporter struct {
	kinds  Kinds
	client kubernetes.Interface
	node   string
	// news has the newest report that was not taken yet.
	news chan v1alpha1.GPUNodeStatus
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
	now := metav1.Now()
	_, err := r.client.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "foreign-instance-" + hex.EncodeToString(id[:8])},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion().String(), Kind: "GPUNode", Name: r.node,
		},
		Type: corev1.EventTypeWarning, Reason: "ForeignInstance",
		Message: fmt.Sprintf("%s has a MIG instance %s at %d that this driver did not make; %s. It is never destroyed; what overlaps it is not offered.",
			g.Name, i.Profile, i.Start, use),
		Source: corev1.EventSource{Component: api.DriverName, Host: r.node}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
