// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// A claim whose spec cannot be read keeps the records from being rebuilt for a while.
// What was in use meanwhile, of a claim that is gone, is taken back all the same.
func TestPartitionInUseWhileRecordsCannotBeRebuilt(t *testing.T) {
	n := newNode(t, []string{"H100-80", "H100-80"})
	n.check = checkInChild
	n.kinds.set(policy("p", wholeGPU(), onDemand("*")))
	n.start()
	n.awaitPublished("gpu-1-mig-3g40gb-9-4")
	bad, busy := n.claim("bad", "gpu-0"), n.claim("busy", "gpu-1-mig-3g40gb-9-4")
	_, err := n.P(bad)
	ok(t, err)
	_, err = n.P(busy)
	ok(t, err)
	ok(t, n.machine.AddProcess(sim.Process{PID: 4712, GPU: 1, Virtual: true, Kind: sim.Compute, GI: n.gi(1, 9), CI: new(0)}))
	n.stop()
	n.deleteClaim(busy)
	ok(t, os.WriteFile(n.cdiFile(bad), []byte(`{"kind":"k8s.gpu.nvi`), 0o644))
	ok(t, os.WriteFile(n.paths.Journal(), []byte("not a journal"), 0o600))
	n.start()
	n.await(func() string {
		if got := n.records()[string(busy.UID)]; got != "releasing" {
			return "the record of the claim that is gone: " + got
		}
		return ""
	})
	ok(t, n.U(bad)) // its pod ends
	n.deleteClaim(bad)
	n.await(func() string {
		if why, err := n.store.Suspect(); err != nil || why != "" {
			return fmt.Sprint("still suspect: ", why, err)
		}
		return ""
	})
	n.awaitTaint("gpu-1-mig-3g40gb-9-4", "cotenant.dev/held")
	ok(t, n.machine.KillProcess(4712))
	n.await(func() string {
		if got := n.instances(1); !slices.Equal(got, []string{}) {
			return fmt.Sprint("GPU 1 has ", got)
		}
		return ""
	})
	n.await(func() string {
		if got := n.records(); len(got) > 0 {
			return fmt.Sprint("records: ", got)
		}
		return ""
	})
}
