// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// configured is a configuration for our driver, from the claim.
func configured(parameters string, requests ...string) resourceapi.DeviceAllocationConfiguration {
	return resourceapi.DeviceAllocationConfiguration{
		Source: resourceapi.AllocationConfigSourceClaim, Requests: requests,
		DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
			Driver: "gpu.nvidia.com", Parameters: runtime.RawExtension{Raw: []byte(parameters)}}},
	}
}

// byClass is the same configuration from the class.
func byClass(c resourceapi.DeviceAllocationConfiguration) resourceapi.DeviceAllocationConfiguration {
	c.Source = resourceapi.AllocationConfigSourceClass
	return c
}

// gpuConfig is a GpuConfig with this sharing.
func gpuConfig(sharing string) string {
	return `{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","sharing":` + sharing + `}`
}

func migConfig(sharing string) string {
	return strings.Replace(gpuConfig(sharing), "GpuConfig", "MigDeviceConfig", 1)
}

// inTurns is a GpuConfig with a time-slice interval.
func inTurns(interval string) string {
	return gpuConfig(`{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":` + interval + `}}`)
}

const (
	byMPS    = `{"strategy":"MPS"}`
	sixteen  = `{"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":16,"defaultPinnedDeviceMemoryLimit":"2Gi"}}`
	fiftyMPS = `{"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":50}}`
)

func results(pairs ...string) []resourceapi.DeviceRequestAllocationResult {
	var out []resourceapi.DeviceRequestAllocationResult
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, resourceapi.DeviceRequestAllocationResult{Request: pairs[i], Driver: "gpu.nvidia.com", Pool: nodeName, Device: pairs[i+1]})
	}
	return out
}

// newTurnsNode is a node that offers everything, and whose driver has nvidia-smi.
func newTurnsNode(t *testing.T, products ...string) *node {
	t.Helper()
	return newSharedNode(t, products, wholeGPU(), onDemand("*"))
}

// The settings of a configuration that is aimed at the main request of a
// prioritized list reach the alternative that was chosen (dra-driver-nvidia-gpu
// #1356).
func TestF01ConfigOfTheParentRequest(t *testing.T) {
	all := []resourceapi.DeviceAllocationConfiguration{
		configured(inTurns(`"Short"`), "gpu"), configured(inTurns(`"Long"`), "gpu/big"), configured(inTurns(`"Medium"`), "gpu/small"),
	}
	for name, c := range map[string]struct {
		config []resourceapi.DeviceAllocationConfiguration
		want   int
	}{"with one for the alternative": {all, 2}, "without": {all[:2], 1}} {
		t.Run(name, func(t *testing.T) {
			n := newTurnsNode(t, "H100-80", "H100-80")
			claim := n.allocate("c", results("gpu/small", "gpu-0", "other", "gpu-1"), c.config)
			got, err := n.P(claim)
			ok(t, err)
			// The kubelet knows the main request only; the library takes the rest off.
			same(t, "request of gpu-0", got[0].RequestNames, []string{"gpu"})
			rec, _, err := n.store.Claim(string(claim.UID))
			ok(t, err)
			same(t, "request in the grant", rec.Grant.Devices[0].Request, "gpu/small")
			same(t, "intervals", []int{n.turns(0), n.turns(1)}, []int{c.want, 0})
			same(t, "changes", n.machine.Calls("nvidia-smi compute-policy --set-timeslice"), 1)
			ok(t, n.U(claim))
			same(t, "intervals afterwards", []int{n.turns(0), n.turns(1)}, []int{0, 0})
		})
	}
}

// What a claim says beats what its class says, in whichever order the status has
// them (the precedence note in dra-driver-nvidia-gpu #1356).
func TestF02ClassAndClaim(t *testing.T) {
	n := newTurnsNode(t, "H100-80", "H100-80")
	config := []resourceapi.DeviceAllocationConfiguration{
		configured(inTurns(`"Short"`)), byClass(configured(inTurns(`"Long"`), "r0")), configured(inTurns(`"Medium"`), "r1"),
	}
	claim := n.allocate("c", results("r0", "gpu-0", "r1", "gpu-1"), config)
	_, err := n.P(claim)
	ok(t, err)
	same(t, "intervals", []int{n.turns(0), n.turns(1)}, []int{1, 2})
	ok(t, n.U(claim))

	before := n.machine.Calls("*")
	strange := configured(inTurns(`"Short"`))
	strange.Source = "Somewhere"
	_, err = n.P(n.allocate("d", results("r0", "gpu-0"), append(config, strange)))
	refused(t, err, "Somewhere")
	same(t, "changes to the hardware", n.machine.Calls("*")-before, 0)
	same(t, "records", n.records(), map[string]string{})
}

// A configuration without requests reaches devices of its own type only; one that
// names a request of the wrong type is the user's error (dra-driver-nvidia-gpu
// #156).
func TestF04OneConfigForAGPUAndAPartition(t *testing.T) {
	const part = "gpu-1-mig-1g10gb-19-6"
	long, empty := inTurns(`"Long"`), `{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig"}`
	both := results("g", "gpu-0", "m/small", part)
	for name, c := range map[string]struct {
		results []resourceapi.DeviceRequestAllocationResult
		config  []resourceapi.DeviceAllocationConfiguration
		refused []string
		turns   int
		daemon  bool
	}{
		"1: no request named":              {both, []resourceapi.DeviceAllocationConfiguration{configured(long)}, nil, 3, false},
		"no request named, partition only": {both[1:], []resourceapi.DeviceAllocationConfiguration{configured(long)}, nil, 0, false},
		"2: the wrong type":                {both, []resourceapi.DeviceAllocationConfiguration{configured(long, "m")}, []string{part, "of type mig", "request m/small"}, 0, false},
		"the wrong type, by alternative":   {both, []resourceapi.DeviceAllocationConfiguration{configured(long, "m/small")}, []string{part, "of type mig"}, 0, false},
		"another alternative":              {both, []resourceapi.DeviceAllocationConfiguration{configured(long, "m/large")}, nil, 0, false},
		"3: a later one of another kind":   {both, []resourceapi.DeviceAllocationConfiguration{configured(long), configured(migConfig(byMPS))}, nil, 3, true},
		"without settings":                 {both, []resourceapi.DeviceAllocationConfiguration{configured(empty)}, nil, 0, false},
		"the last one takes it back":       {both, []resourceapi.DeviceAllocationConfiguration{configured(long), configured(empty)}, nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTurnsNode(t, "H100-80", "H100-80")
			before := n.machine.Calls("*")
			claim := n.allocate("c", c.results, c.config)
			got, err := n.P(claim)
			if c.refused != nil {
				refused(t, err, c.refused...)
				same(t, "changes to the hardware", n.machine.Calls("*")-before, 0)
				same(t, "records", n.records(), map[string]string{})
				return
			}
			ok(t, err)
			same(t, "devices", len(got), len(c.results))
			same(t, "intervals", []int{n.turns(0), n.turns(1)}, []int{c.turns, 0})
			if d, running := n.daemons.running()[string(claim.UID)]; running != c.daemon {
				t.Errorf("MPS daemons: %+v", n.daemons.running())
			} else if running {
				same(t, "devices of the daemon", d.UUIDs, []string{n.gpuState(1).GIs[0].CIs[0].UUID})
			}
			ok(t, n.U(claim))
			same(t, "intervals afterwards", []int{n.turns(0), n.turns(1)}, []int{0, 0})
			same(t, "daemons afterwards", len(n.daemons.running()), 0)
		})
	}
}

// A misspelt key is an error that names it, and one claim's only
// (dra-driver-nvidia-gpu#587).
func TestF10UnknownField(t *testing.T) {
	n := newTurnsNode(t, "H100-80", "H100-80")
	bad := n.allocate("bad", results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{
		configured(gpuConfig(`{"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercent":50}}`))})
	good := n.claim("good", "gpu-1")
	r := n.both(bad, good)
	if !strings.Contains(r[bad.Name], "defaultActiveThreadPercent") || r[good.Name] != "" {
		t.Errorf("answers %v", r)
	}
	same(t, "daemons", len(n.daemons.running()), 0)
	same(t, "records", n.records(), map[string]string{string(good.UID): "prepared"})
}

// What a newer release recorded, and what it had decoded, does not keep a claim from
// being released after a downgrade (dra-driver-nvidia-gpu#576).
func TestF11TeardownIsNotStrict(t *testing.T) {
	n := newTurnsNode(t, "H100-80")
	claim := n.allocate("c", results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{configured(gpuConfig(fiftyMPS))})
	_, err := n.P(claim)
	ok(t, err)
	n.stop()
	n.editRecord(string(claim.UID), func(record map[string]any) {
		record["futureKnob"] = 1
		record["steps"].([]any)[0].(map[string]any)["futureKnob"] = true
	})
	future := gpuConfig(`{"strategy":"MPS","futureKnob":1}`)
	n.reconfigure(claim, configured(future))
	n.start()
	ok(t, n.U(claim))
	same(t, "records", n.records(), map[string]string{})
	same(t, "daemons", len(n.daemons.running()), 0)
	same(t, "compute mode", n.compute(0), sim.ComputeDefault)
	_, err = n.P(n.allocate("d", results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{configured(future)}))
	refused(t, err, "futureKnob")
}

// Blocks that are empty, and settings of the other strategy
// (TimeSlicingConfig.Validate upstream, at 95932046).
func TestF13EmptyBlocks(t *testing.T) {
	for config, c := range map[string]struct {
		refused string
		daemon  bool
	}{
		`{"strategy":"TimeSlicing","timeSlicingConfig":{}}`:                {},
		`{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":null}}`: {},
		`{"strategy":"MPS","mpsConfig":null}`:                              {daemon: true},
		`{"strategy":"MPS","timeSlicingConfig":{"interval":"Short"}}`:      {refused: "MPS"},
		`{"strategy":"TimeSlicing","mpsConfig":{}}`:                        {refused: "TimeSlicing"},
	} {
		t.Run(config, func(t *testing.T) {
			n := newTurnsNode(t, "H100-80")
			claim := n.allocate("c", results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{configured(gpuConfig(config))})
			_, err := n.P(claim)
			if c.refused != "" {
				refused(t, err, c.refused)
				return
			}
			ok(t, err)
			same(t, "interval", n.turns(0), 0)
			d, running := n.daemons.running()[string(claim.UID)]
			same(t, "a daemon", running, c.daemon)
			same(t, "its limits", d.ActiveThreads, 0)
		})
	}
}

// What is not a configuration of ours is named with what is supported
// (dra-driver-nvidia-gpu#11, #68).
func TestF17WrongVersionOrKind(t *testing.T) {
	n := newTurnsNode(t, "H100-80")
	before := n.machine.Calls("*")
	for i, parameters := range []string{
		`{"apiVersion":"gpu.nvidia.com/v1alpha1","kind":"GpuConfig"}`,
		`{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuClaimParameters"}`,
		`{"apiVersion":"resource.nvidia.com/v1beta1"}`,
		`[]`, `"text"`, // two objects in a row no API server stores; see api/nvidia
	} {
		_, err := n.P(n.allocate(fmt.Sprint("c", i), results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{configured(parameters)}))
		refused(t, err, "GpuConfig", "resource.nvidia.com/v1beta1")
	}
	same(t, "changes to the hardware", n.machine.Calls("*")-before, 0)
	theirs := configured(`{"kind":7}`)
	theirs.Opaque.Driver = "GPU.nvidia.com"
	_, err := n.P(n.allocate("g", results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{theirs}))
	ok(t, err)
}

// Limits of memory are whole MiB, rounded down (dra-driver-nvidia-gpu#11).
func TestF34MemoryLimitUnits(t *testing.T) {
	n := newTurnsNode(t, "A100-40")
	for i, c := range []struct {
		limit   string
		mib     int64
		refused string
	}{
		{`"10Gi"`, 10240, ""}, {`"10G"`, 9536, ""}, {`"1G"`, 953, ""}, {`"1.5Gi"`, 1536, ""}, {`"1500M"`, 1430, ""}, {`"8e9"`, 7629, ""}, {`"1Mi"`, 1, ""},
		{`"1M"`, 0, "too low"}, {`"512Ki"`, 0, "too low"}, {`"0"`, 0, "too low"}, {`"-1Gi"`, 0, "too low"},
		{`"10GB"`, 0, "10GB"}, {`"10 Gi"`, 0, "10 Gi"}, {`"100Gi"`, 0, "100Gi"},
	} {
		claim := n.allocate(fmt.Sprint("c", i), results("r", "gpu-0"), []resourceapi.DeviceAllocationConfiguration{
			configured(gpuConfig(`{"strategy":"MPS","mpsConfig":{"defaultPinnedDeviceMemoryLimit":` + c.limit + `}}`))})
		_, err := n.P(claim)
		if c.refused != "" {
			refused(t, err, c.refused)
			same(t, "records after "+c.limit, n.records(), map[string]string{})
			continue
		}
		ok(t, err)
		same(t, "limit for "+c.limit, n.daemons.running()[string(claim.UID)].PinnedMiB, []int64{c.mib})
		n.finish(claim)
	}
}

// A limit of one device is by its position among the sorted UUIDs of the daemon, or
// by its UUID (NVIDIA/k8s-device-plugin#572).
func TestF35LimitsOfSingleDevices(t *testing.T) {
	n := newTurnsNode(t, "H100-80", "H100-80", "H100-80", "H100-80")
	first, second := n.gpuState(1).UUID, n.gpuState(3).UUID
	if first > second {
		first, second = second, first
	}
	for i, c := range []struct {
		key     string
		want    []int64
		refused bool
	}{
		{"0", []int64{5120, 10240}, false}, {"1", []int64{10240, 5120}, false}, {first, []int64{5120, 10240}, false}, {second, []int64{10240, 5120}, false},
		{"3", nil, true}, {"-1", nil, true}, {n.gpuState(0).UUID, nil, true}, {strings.ToLower(first[:3]) + first[3:], nil, true}, {"", nil, true}, {"00", nil, true},
	} {
		claim := n.allocate(fmt.Sprint("c", i), results("r", "gpu-3", "s", "gpu-1"), []resourceapi.DeviceAllocationConfiguration{
			configured(gpuConfig(`{"strategy":"MPS","mpsConfig":{"defaultPinnedDeviceMemoryLimit":"10Gi","defaultPerDevicePinnedMemoryLimit":{"` + c.key + `":"5Gi"}}}`))})
		_, err := n.P(claim)
		if c.refused {
			refused(t, err, "invalid device")
			continue
		}
		ok(t, err)
		same(t, "the daemon for "+c.key, n.daemons.running()[string(claim.UID)], sharing.Daemon{
			ID: string(claim.UID), UUIDs: []string{first, second}, PinnedMiB: c.want})
		n.finish(claim)
	}
}
