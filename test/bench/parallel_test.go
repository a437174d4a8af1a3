// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"sync/atomic"
	"testing"
)

func TestInParallel(t *testing.T) {
	var now, most, calls atomic.Int64
	first := errors.New("first")
	err := inParallel(50, 4, func(i int) error {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		calls.Add(1)
		switch i {
		case 20:
			return first
		case 30:
			return errors.New("second")
		}
		return nil
	})
	if !errors.Is(err, first) || calls.Load() != 50 || most.Load() > 4 {
		t.Errorf("error %v, %d calls, %d at once; want the first error, 50 calls, at most 4 at once", err, calls.Load(), most.Load())
	}
}

func TestAtOnce(t *testing.T) {
	const n = 20
	var in atomic.Int64
	all := make(chan struct{})
	why := errors.New("no")
	_, errs := atOnce(n, func(i int) error {
		if in.Add(1) == n {
			close(all)
		}
		<-all
		if i == 3 {
			return why
		}
		return nil
	})
	for i, err := range errs {
		if want := i == 3; (err != nil) != want {
			t.Errorf("call %d: %v", i, err)
		}
	}
}
