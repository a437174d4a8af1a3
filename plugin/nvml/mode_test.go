// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml_test

import (
	"testing"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/test/sim"
)

const setMode = "nvmlDeviceSetMigMode"

// What becomes of the mode, and what is said, by each of the call's two results
// and the mode that is read back. Nothing is ever left pending.
func TestSwitchMIG(t *testing.T) {
	activated := func(c sim.Code) *sim.Do { return &sim.Do{Activation: &c} }
	for name, c := range map[string]struct {
		product string
		before  func(*bench)
		fault   *sim.Do // of the first call
		to      bool
		want    bool
		reason  api.Reason
		says    string // "" when it succeeds
		calls   int
	}{
		"on":               {product: "H100-80", to: true, want: true, calls: 1},
		"off":              {product: "H100-80+", to: false, want: false, calls: 1},
		"on already":       {product: "H100-80+", to: true, want: true},
		"off already":      {product: "H100-80", to: false, want: false},
		"off, instances":   {product: "H100-80+", before: withInstance, to: false, want: true, reason: api.Held, says: "has 1 MIG instances"},
		"off, a bare one":  {product: "H100-80+", before: func(b *bench) { ok(b.t, b.machine.CreateInstance(0, 19, 0, false)) }, to: false, want: true, reason: api.Held, says: "has 1 MIG instances"},
		"no permission":    {product: "H100-80", fault: &sim.Do{Return: new(sim.NoPermission)}, to: true, says: setMode + " says Insufficient Permissions", calls: 1},
		"the call in use":  {product: "H100-80", fault: &sim.Do{Return: new(sim.InUse)}, to: true, reason: api.InUse, says: setMode, calls: 1},
		"a process":        {product: "H100-80", before: withProcess, to: true, reason: api.InUse, says: "cannot be switched on: In use by another client", calls: 1},
		"in use, off":      {product: "H100-80+", fault: activated(sim.InUse), to: false, want: true, reason: api.InUse, says: "cannot be switched off", calls: 1},
		"needs a reset":    {product: "H100-80", fault: activated(sim.ResetRequired), to: true, reason: api.NeedsReset, says: "only by a reset of the GPU: nvidia-smi -mig 1", calls: 2},
		"off by a reset":   {product: "H100-80+", fault: activated(sim.ResetRequired), to: false, want: true, reason: api.NeedsReset, says: "nvidia-smi -mig 0", calls: 2},
		"success in vain":  {product: "H100-80", fault: activated(sim.Success), to: true, reason: api.NeedsReset, says: "only by a reset", calls: 1},
		"another trouble":  {product: "H100-80", fault: activated(sim.Unknown), to: true, says: "activating the mode, says Unknown Error", calls: 1},
		"Ampere":           {product: "A100-40", to: true, reason: api.NeedsReset, says: "only by a reset", calls: 2},
		"Ampere, in use":   {product: "A100-40", before: withProcess, to: true, reason: api.InUse, says: "cannot be switched on", calls: 2},
		"somebody's wish":  {product: "A100-40", before: withPending, to: false, want: false, calls: 1},
		"no MIG":           {product: "T4", to: true, reason: api.Invalid, says: "cannot be partitioned"},
		"cannot be undone": {product: "A100-40", before: func(b *bench) { b.refuse(setMode, 2, sim.Unknown) }, to: true, want: false, says: "to take back a change that waits for a reset, says Unknown Error", calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, machineOf(c.product))
			if c.before != nil {
				c.before(b)
			}
			if c.fault != nil {
				ok(t, b.machine.Inject(sim.Fault{Match: sim.Match{Call: setMode}, When: sim.When{Nth: 1}, Do: *c.fault}))
			}
			asked := b.machine.Calls(setMode)
			err := b.SwitchMIG(t.Context(), b.gpu(0).PCI, c.to)
			if c.says == "" {
				ok(t, err)
			} else {
				refused(t, err, c.reason, c.says)
			}
			pending := c.want != (name == "cannot be undone")
			same(t, "mode", b.gpu(0).MIG, sim.MIGMode{Current: c.want, Pending: pending})
			same(t, "calls", b.machine.Calls(setMode)-asked, c.calls)
		})
	}
}

func withInstance(b *bench) { ok(b.t, b.machine.CreateInstance(0, 19, 0, true)) }

func withProcess(b *bench) {
	ok(b.t, b.machine.AddProcess(sim.Process{PID: 4711, Virtual: true, Name: "dcgm"}))
}

// withPending has somebody ask for MIG mode on a GPU that needs a reset.
func withPending(b *bench) {
	b.raw(0).SetMigMode(1)
	if !b.gpu(0).MIG.Pending {
		b.t.Fatal("the change is not pending")
	}
}

// refuse has the nth call answer with a code.
func (b *bench) refuse(call string, nth uint64, code sim.Code) {
	b.t.Helper()
	ok(b.t, b.machine.Inject(sim.Fault{Match: sim.Match{Call: call}, When: sim.When{Nth: nth}, Do: sim.Do{Return: &code}}))
}

// A GPU whose generation needs no reset and that needs one all the same, as in
// some virtual machines, is not offered as one whose mode follows claims again:
// not in a new session either. Others are not concerned.
func TestNeedForAResetIsRemembered(t *testing.T) {
	b := newBench(t, machineOf("H100-80", "H100-80"))
	switchable := func(when string, want ...bool) {
		t.Helper()
		var got []bool
		for _, g := range b.look() {
			got = append(got, g.MIG.Switchable)
		}
		same(t, "switchable "+when, got, want)
	}
	switchable("at first", true, true)
	ok(t, b.machine.Inject(sim.Fault{Match: sim.Match{Call: setMode, GPU: new(0)}, When: sim.When{Nth: 1}, Do: sim.Do{Activation: new(sim.ResetRequired)}}))
	refused(t, b.SwitchMIG(t.Context(), b.gpu(0).PCI, true), api.NeedsReset, "reset")
	switchable("after it", false, true)
	b.Close()
	switchable("in a new session", false, true)
	ok(t, b.SwitchMIG(t.Context(), b.gpu(1).PCI, true))
	switchable("when another GPU was switched", false, true)
}
