// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/test/sim"
)

const setTurns, readTurns = "nvidia-smi compute-policy --set-timeslice", "nvidia-smi compute-policy -l"

// A GPU that has no time-slice interval serves who does not ask for one, refuses who
// does, and lets go of a claim whatever was recorded (dra-driver-nvidia-gpu#41, #81,
// #363, #1183).
func TestF43GPUWithoutAnInterval(t *testing.T) {
	n := newSharedNode(t, []string{"P4"}, wholeGPU(), eighthInTurns("Short"))
	a := n.claim("a", "gpu-0")
	_, err := n.P(a)
	ok(t, err)
	same(t, "changes for a claim without configuration", n.machine.Calls(setTurns), 0)
	n.finish(a)

	_, err = n.P(n.allocate("b", results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{configured(inTurns(`"Short"`))}))
	refused(t, err, n.gpuState(0).UUID, "not supported")
	same(t, "records", n.records(), map[string]string{})
	same(t, "compute mode", n.compute(0), sim.ComputeDefault)

	usual := n.allocate("d", results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{configured(gpuConfig(`{"strategy":"TimeSlicing"}`))})
	_, err = n.P(usual)
	ok(t, err) // the default is what it has
	n.finish(usual)

	c := n.claim("c", "gpu-0")
	_, err = n.P(c)
	ok(t, err)
	n.stop()
	n.editRecord(string(c.UID), func(record map[string]any) {
		address := "0000:" + n.gpuState(0).PCI[len(n.gpuState(0).PCI)-7:]
		setting := map[string]any{"address": address, "uuid": n.gpuState(0).UUID}
		record["steps"] = append([]any{map[string]any{"setInterval": setting}}, record["steps"].([]any)...)
		record["facts"] = map[string]any{address + "/time-slice": map[string]any{"was": "Long"}}
	})
	n.start()
	ok(t, n.U(c))
	same(t, "records at the end", n.records(), map[string]string{})

	// and the offer that needs one says so instead of failing pods
	n.await(func() string {
		status, _ := n.kinds.reported()
		for _, g := range status.GPUs {
			for _, w := range g.Withheld {
				if w.Offer == "eighth" && strings.Contains(w.Reason, "the time-slice interval of Tesla P4 cannot be set: not supported") {
					return ""
				}
			}
		}
		return fmt.Sprintf("GPUNode: %+v", status.GPUs)
	})
	n.awaitDevices("gpu-0")
}

// The interval is changed on request only, and is afterwards what it was
// (dra-driver-nvidia-gpu#1183). The case restores the default; this driver recorded
// what it was, and restores that.
func TestF44OnRequestOnly(t *testing.T) {
	n := newTurnsNode(t, "H100-80")
	n.preset(0, func(g *sim.GPU) { g.TimeSlice = 2 })
	a := n.claim("a", "gpu-0")
	_, err := n.P(a)
	ok(t, err)
	ok(t, n.U(a))
	same(t, "interval", n.turns(0), 2)
	same(t, "uses of nvidia-smi", n.machine.Calls(setTurns)+n.machine.Calls(readTurns), 0)
	same(t, "changes of the compute mode", n.machine.Calls("nvmlDeviceSetComputeMode"), 0)

	long := []resourceapi.DeviceAllocationConfiguration{configured(inTurns(`"Long"`))}
	for _, before := range []int{2, 0} {
		n.preset(0, func(g *sim.GPU) { g.TimeSlice = before })
		b := n.allocate(fmt.Sprint("b", before), results("r", "gpu-0"), long)
		_, err = n.P(b)
		ok(t, err)
		same(t, "interval", n.turns(0), 3)
		n.restart()
		same(t, "interval after a restart", n.turns(0), 3)
		n.finish(b)
		same(t, "interval at the end", n.turns(0), before)
	}
	// What an older release recorded has no such steps, and nothing is reset for it.
	c := n.claim("c", "gpu-0")
	_, err = n.P(c)
	ok(t, err)
	n.preset(0, func(g *sim.GPU) { g.TimeSlice = 2 })
	ok(t, n.U(c))
	same(t, "interval after a claim without settings", n.turns(0), 2)
}

// The four names, and nothing else (TimeSliceInterval upstream).
func TestF46IntervalNames(t *testing.T) {
	n := newTurnsNode(t, "H100-80")
	for i, c := range []struct {
		interval string
		level    int
		refused  bool
	}{
		{`"Default"`, 0, false}, {`"Short"`, 1, false}, {`"Medium"`, 2, false}, {`"Long"`, 3, false},
		{`"short"`, 0, true}, {`"LONG"`, 0, true}, {`"2"`, 0, true}, {`"10ms"`, 0, true}, {`""`, 0, true}, {`" Short"`, 0, true},
	} {
		claim := n.allocate(fmt.Sprint("c", i), results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{configured(inTurns(c.interval))})
		_, err := n.P(claim)
		if c.refused {
			refused(t, err, "Default", "Short", "Medium", "Long")
			continue
		}
		ok(t, err)
		same(t, "interval for "+c.interval, n.turns(0), c.level)
		n.finish(claim)
	}
	_, err := n.P(n.allocate("number", results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{configured(inTurns(`2`))}))
	refused(t, err, "interval")
	same(t, "interval at the end", n.turns(0), 0)
}

// Time-slicing on a partition changes nothing of its GPU, which others use
// (the upstream spec gpu-simple-mig-ts.yaml).
func TestF47TurnsOnAPartition(t *testing.T) {
	const part = "gpu-0-mig-1g10gb-19-6"
	for name, c := range map[string]struct {
		config  resourceapi.DeviceAllocationConfiguration
		refused string
	}{
		"a": {configured(migConfig(`{"strategy":"TimeSlicing"}`)), ""},
		"b": {configured(migConfig(`{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}}`)), "timeSlicingConfig"},
		"c": {configured(inTurns(`"Long"`), "m"), "of type mig"},
		"d": {configured(inTurns(`"Long"`)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTurnsNode(t, "H100-80")
			claim := n.allocate("c", results("m", part), []resourceapi.DeviceAllocationConfiguration{c.config})
			_, err := n.P(claim)
			if c.refused != "" {
				refused(t, err, c.refused)
			} else {
				ok(t, err)
				ok(t, n.U(claim))
			}
			same(t, "changes of interval and compute mode", n.machine.Calls(setTurns)+n.machine.Calls("nvmlDeviceSetComputeMode"), 0)
		})
	}
}
