// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/cotenant-dev/cotenant/api"
)

// nodeFacts is what the plugin wants to know about its own Node object.
type nodeFacts struct {
	uid types.UID
	// advertised is how many GPUs the device plugin offers on the node.
	advertised int64
	labels     map[string]string
}

func (f nodeFacts) equal(g nodeFacts) bool {
	return f.uid == g.uid && f.advertised == g.advertised && maps.Equal(f.labels, g.labels)
}

// watchNode calls changed with the facts of the node, at first and whenever they
// change, until the context ends. It watches one object.
func watchNode(ctx context.Context, client kubernetes.Interface, name string, changed func(nodeFacts)) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}),
		informers.WithTransform(strip))
	var last nodeFacts // has no UID, as no node
	look := func(obj any) {
		node, ok := obj.(*corev1.Node)
		if !ok || node.Name != name {
			return
		}
		advertised := node.Status.Allocatable[api.GPUExtendedResource]
		if now := (nodeFacts{uid: node.UID, advertised: advertised.Value(), labels: node.Labels}); !now.equal(last) {
			last = now
			changed(now)
		}
	}
	informer := factory.Core().V1().Nodes().Informer()
	// The only error is that of an informer that was stopped; this one is new.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    look,
		UpdateFunc: func(_, obj any) { look(obj) },
	})
	informer.RunWithContext(ctx)
}

// strip keeps of a Node what nodeFacts are read from.
func strip(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{api.GPUExtendedResource: node.Status.Allocatable[api.GPUExtendedResource]}},
	}, nil
}
