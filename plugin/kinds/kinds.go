// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds reads and writes our own objects in the API server on behalf of
// the node plugin: it watches SharingPolicies, without their status, and writes
// the status of the node's own GPUNode.
//
// It may import api, mig, sharing and client-go.
package kinds

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Client reads and writes our kinds. Make it with New.
type Client struct {
	client dynamic.Interface
}

// New returns a client.
func New(c dynamic.Interface) *Client { return &Client{client: c} }

func resource(name string) schema.GroupVersionResource {
	return v1alpha1.GroupVersion().WithResource(name)
}

// WatchPolicies calls changed with all SharingPolicies, at first and whenever one
// changes in more than its status, until the context ends. In a cluster that does
// not have the kind there are none; where it vanishes they stay as they were.
func (c *Client) WatchPolicies(ctx context.Context, changed func([]v1alpha1.SharingPolicy)) {
	log := klog.FromContext(ctx)
	informer := dynamicinformer.NewDynamicSharedInformerFactory(c.client, 0).ForResource(resource("sharingpolicies")).Informer()
	tell := func() {
		if !informer.HasSynced() {
			return
		}
		policies, err := decode(informer.GetStore().List())
		if err != nil {
			log.Error(err, "A SharingPolicy cannot be read; the policies stay as they were")
			return
		}
		changed(policies)
	}
	// These fail only for an informer that has started.
	_ = informer.SetTransform(strip)
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		// A kind that was there and is not any more is somebody's mistake, or an API
		// server that is starting: the policies stay as they were last seen.
		if apierrors.IsNotFound(err) && !informer.HasSynced() {
			log.V(1).Info("The cluster has no SharingPolicies: the kind is not installed")
			changed(nil)
			return
		}
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { tell() },
		DeleteFunc: func(any) { tell() },
		UpdateFunc: func(before, now any) {
			if !same(before, now) {
				tell()
			}
		},
	})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			tell() // also when there is none
		}
	}()
	informer.RunWithContext(ctx)
}

// strip keeps of a policy what decides who owns a GPU.
func strip(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, "status")
		u.SetManagedFields(nil)
		u.SetAnnotations(nil)
	}
	return obj, nil
}

// same says whether a policy that was written is what it was: only its status
// was. Every node sees every such write.
func same(before, now any) bool {
	a, aok := before.(*unstructured.Unstructured)
	b, bok := now.(*unstructured.Unstructured)
	if !aok || !bok {
		return false
	}
	a = a.DeepCopy()
	a.SetResourceVersion(b.GetResourceVersion())
	return equality.Semantic.DeepEqual(a.Object, b.Object)
}

func decode(objects []any) ([]v1alpha1.SharingPolicy, error) {
	var policies []v1alpha1.SharingPolicy
	for _, obj := range objects {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("an object of type %T among the SharingPolicies", obj)
		}
		var p v1alpha1.SharingPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p); err != nil {
			return nil, fmt.Errorf("SharingPolicy %q: %w", u.GetName(), err)
		}
		policies = append(policies, p)
	}
	slices.SortFunc(policies, func(a, b v1alpha1.SharingPolicy) int { return cmp.Compare(a.Name, b.Name) })
	return policies, nil
}

// Report makes the status of the node's GPUNode what it is given, and writes
// nothing when it is that already.
func (c *Client) Report(ctx context.Context, node string, s v1alpha1.GPUNodeStatus) error {
	nodes := c.client.Resource(resource("gpunodes"))
	have, err := nodes.Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		have, err = nodes.Create(ctx, blank(node), metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("get GPUNode %s: %w", node, err)
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(have.Object["status"], any(status)) {
		return nil
	}
	have.Object["status"] = status
	if _, err := nodes.UpdateStatus(ctx, have, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("write the status of GPUNode %s: %w", node, err)
	}
	return nil
}

func blank(node string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind("GPUNode"))
	u.SetName(node)
	return u
}
