// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/cotenant-dev/cotenant/api"
)

// sighting is when the slices of a node were complete, as a watcher sees it.
type sighting struct {
	at  time.Time
	err error
}

// slicesOf selects the slices of our driver on the node.
func slicesOf(node string) string {
	return fields.Set{
		resourceapi.ResourceSliceSelectorDriver:   api.DriverName,
		resourceapi.ResourceSliceSelectorNodeName: node,
	}.String()
}

// awaitSlices deletes the slices of the node and watches for new ones. What it
// returns gets one value, when the watch has shown that many devices or has
// failed. The watch stands when it returns.
func (s scheduler) awaitSlices(ctx context.Context, node string, devices int) (<-chan sighting, error) {
	slices := s.client.ResourceV1().ResourceSlices()
	opts := metav1.ListOptions{FieldSelector: slicesOf(node)}
	if err := slices.DeleteCollection(ctx, metav1.DeleteOptions{}, opts); err != nil {
		return nil, fmt.Errorf("delete the slices of %s: %w", node, err)
	}
	left, err := slices.List(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("list the slices of %s: %w", node, err)
	}
	if n := len(left.Items); n > 0 {
		return nil, fmt.Errorf("%d slices of %s are there after all were deleted; something else publishes them", n, node)
	}
	opts.ResourceVersion = left.ResourceVersion
	w, err := slices.Watch(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("watch the slices of %s: %w", node, err)
	}
	seen := make(chan sighting, 1)
	go func() {
		defer w.Stop()
		seen <- complete(w.ResultChan(), devices)
	}()
	return seen, nil
}

// complete reads events until the slices that exist have that many devices.
func complete(events <-chan watch.Event, devices int) sighting {
	have := map[types.UID]int{}
	for e := range events {
		s, ok := e.Object.(*resourceapi.ResourceSlice)
		switch {
		case !ok:
			return sighting{err: fmt.Errorf("watch slices: %s event with %T", e.Type, e.Object)}
		case e.Type == watch.Deleted:
			delete(have, s.UID)
		default:
			have[s.UID] = len(s.Spec.Devices)
		}
		total := 0
		for _, n := range have {
			total += n
		}
		if total >= devices {
			return sighting{at: time.Now()}
		}
	}
	return sighting{err: errors.New("the watch of the slices ended before they were complete")}
}
