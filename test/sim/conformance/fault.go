// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func faults() []behaviour {
	two := []string{"A30-24", "A30-24"}
	code := func(c sim.Code) *sim.Code { return &c }
	return []behaviour{
		{name: "a fault strikes its call on its GPU", gpus: two, run: func(e *env) {
			e.do(e.m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceGetUUID", GPU: new(1)}, Do: sim.Do{Return: code(sim.Unknown)}}))
			_, ret := e.dev(1).GetUUID()
			e.is("its call", ret, nvml.ERROR_UNKNOWN)
			_, ret = e.dev(1).GetName()
			e.is("another call", ret, nvml.SUCCESS)
			_, ret = e.dev(0).GetUUID()
			e.is("another GPU", ret, nvml.SUCCESS)
			e.do(e.m.ClearFaults())
			_, ret = e.dev(1).GetUUID()
			e.is("cleared", ret, nvml.SUCCESS)
		}},
		{name: "a fault strikes the call of its number", gpus: two, run: func(e *env) {
			e.do(e.m.Inject(sim.Fault{ID: "second", Match: sim.Match{Call: "nvmlDeviceGetName"}, When: sim.When{Nth: 2}, Do: sim.Do{Return: code(sim.Timeout)}}))
			var got [4]nvml.Return
			for i := range got {
				_, got[i] = e.dev(0).GetName()
			}
			equal(e, "four calls", got, nvml.SUCCESS, [4]nvml.Return{nvml.SUCCESS, nvml.ERROR_TIMEOUT, nvml.SUCCESS, nvml.SUCCESS})
		}},
		{name: "a refused change changes nothing", gpus: two, run: func(e *env) {
			e.do(e.m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceSet*"}, Do: sim.Do{Return: code(sim.NoPermission)}}))
			d := e.dev(0)
			e.is("set", d.SetComputeMode(nvml.COMPUTEMODE_PROHIBITED), nvml.ERROR_NO_PERMISSION)
			mode, ret := d.GetComputeMode()
			equal(e, "mode", mode, ret, nvml.COMPUTEMODE_DEFAULT)
		}},
		{name: "a hanging call goes on when the fault is cleared", gpus: two, run: func(e *env) {
			e.do(e.m.Inject(sim.Fault{ID: "hang", Match: sim.Match{Call: "nvmlDeviceGetName"}, Do: sim.Do{Hang: true}}))
			d := e.dev(0)
			answered := make(chan nvml.Return, 1)
			go func() { _, ret := d.GetName(); answered <- ret }()
			e.struck("hang")
			select {
			case ret := <-answered:
				e.Errorf("the call answered %v and should hang", ret)
			default:
			}
			_, ret := d.GetUUID()
			e.is("another call meanwhile", ret, nvml.SUCCESS)
			e.do(e.m.ClearFaults())
			e.is("the call that hung", <-answered, nvml.SUCCESS)
		}},
		{name: "a delayed call takes its time", gpus: two, run: func(e *env) {
			e.do(e.m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceGetName"}, Do: sim.Do{Delay: 20 * time.Millisecond}}))
			d := e.dev(0)
			begun := time.Now()
			_, ret := d.GetName()
			e.is("name", ret, nvml.SUCCESS)
			if took := time.Since(begun); took < 20*time.Millisecond {
				e.Errorf("the call took %s, want 20 ms or more", took)
			}
		}},
		{name: "a GPU lost under a call", gpus: two, run: func(e *env) {
			set := e.listen(0)
			e.do(e.m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceGetName", GPU: new(0)}, When: sim.When{Nth: 1}, Do: sim.Do{XID: new(uint64(62)), LoseGPU: true}}))
			_, ret := e.dev(0).GetName()
			e.is("name", ret, nvml.ERROR_GPU_IS_LOST)
			e.next(set, 0, 62, wholeGPU, wholeGPU)
			e.next(set, 0, 79, wholeGPU, wholeGPU)
		}},
	}
}

// struck waits until a fault has struck.
func (e *env) struck(id string) {
	e.Helper()
	for deadline := time.Now().Add(soon * time.Millisecond); time.Now().Before(deadline); {
		all, err := e.m.Faults()
		e.do(err)
		for _, f := range all {
			if f.ID == id && f.Fired > 0 {
				return
			}
		}
	}
	e.Fatalf("fault %s never struck", id)
}
