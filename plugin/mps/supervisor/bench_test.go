// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"strconv"
	"testing"
)

// A daemon for several users, with both limits, whose control program starts at
// once. What is measured begins and ends at the plugin's call.
func BenchmarkEnsure(b *testing.B) {
	b.Run("start", func(b *testing.B) {
		n := newNode(b)
		n.start()
		d := n.quarter()
		for b.Loop() {
			n.ensure(d)
			b.StopTimer()
			ok(b, n.client.Stop(b.Context(), d.ID))
			b.StartTimer()
		}
	})
	// A shell starts sooner than the stand-in, as NVIDIA's program does: what is left
	// is nearly the supervisor's own.
	b.Run("start-small", func(b *testing.B) {
		n := newNode(b)
		n.program(script(stays, "get_*active*) echo 25.0;;\nget_default_device_pinned*) echo 18G;;\nget_server_list) echo "+strconv.Itoa(os.Getpid())+";;\nget_server_status*) echo ACTIVE;;"))
		n.start()
		d := n.quarter()
		for b.Loop() {
			n.ensure(d)
			b.StopTimer()
			ok(b, n.client.Stop(b.Context(), d.ID))
			b.StartTimer()
		}
	})
	b.Run("running", func(b *testing.B) {
		n := newNode(b)
		n.start()
		d := n.quarter()
		n.ensure(d)
		for b.Loop() {
			n.ensure(d)
		}
	})
}
