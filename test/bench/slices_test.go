// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func TestSlicesAreCompleteWhenAllDevicesAreThere(t *testing.T) {
	slice := func(uid string, devices int) *resourceapi.ResourceSlice {
		return &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)},
			Spec: resourceapi.ResourceSliceSpec{Devices: make([]resourceapi.Device, devices)}}
	}
	for _, c := range []struct {
		name   string
		events []watch.Event
		seen   bool
	}{
		{"at once", []watch.Event{{Type: watch.Added, Object: slice("a", 8)}}, true},
		{"in two", []watch.Event{{Type: watch.Added, Object: slice("a", 4)}, {Type: watch.Added, Object: slice("b", 4)}}, true},
		{"grown", []watch.Event{{Type: watch.Added, Object: slice("a", 0)}, {Type: watch.Modified, Object: slice("a", 8)}}, true},
		{"the same twice", []watch.Event{{Type: watch.Added, Object: slice("a", 4)}, {Type: watch.Modified, Object: slice("a", 4)}}, false},
		{"one gone", []watch.Event{{Type: watch.Added, Object: slice("a", 4)}, {Type: watch.Deleted, Object: slice("a", 4)}, {Type: watch.Added, Object: slice("b", 4)}}, false},
		{"an error", []watch.Event{{Type: watch.Error, Object: &metav1.Status{}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := make(chan watch.Event, len(c.events))
			for _, e := range c.events {
				events <- e
			}
			close(events)
			got := complete(events, 8)
			if (got.err == nil) != c.seen || got.at.IsZero() == c.seen {
				t.Errorf("%+v, want complete: %v", got, c.seen)
			}
		})
	}
}
