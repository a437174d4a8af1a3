// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// life is a random life of a node: the scheduler allocates from what is
// published, the kubelet prepares and releases.
type life struct {
	*node
	random   *rand.Rand
	serial   int
	claims   map[string]*resourceapi.ResourceClaim // allocated
	prepared map[string]bool
}

// Claims come and go, the plugin is restarted and the policy edited, and after
// each of 400 events the hardware has exactly what the prepared claims have.
func TestHardwareIsWhatClaimsHave(t *testing.T) {
	l := &life{node: newNode(t, []string{"H100-80", "A100-40", "H100-80", "T4"}), random: rand.New(rand.NewSource(1)),
		claims: map[string]*resourceapi.ResourceClaim{}, prepared: map[string]bool{}}
	ok(t, l.machine.SetMIG(1, true))
	l.retire = sharing.Patience{Wait: 1, Again: 1}
	l.kinds.set(everything())
	l.start()
	l.awaitPublished("gpu-3", "gpu-1-mig-7g40gb-0-0")
	counts := map[string]int{}
	for range 400 {
		counts[l.event()]++
		l.agrees()
	}
	t.Log("events: ", counts)
	for _, name := range slices.Sorted(maps.Keys(l.claims)) {
		ok(t, l.U(l.claims[name]))
		delete(l.prepared, name)
	}
	l.agrees()
	same(t, "mode of the first H100", l.mode(0).Current, false)
	same(t, "mode of the A100", l.mode(1).Current, true)
	for _, kind := range []string{"prepared", "released", "did not fit", "restarted", "edited"} {
		if counts[kind] == 0 {
			t.Errorf("no event %q: it proves nothing about it", kind)
		}
	}
}

func (l *life) event() string {
	switch p := l.random.Intn(100); {
	case p < 55:
		return l.ask()
	case p < 94:
		return l.release()
	case p < 97:
		l.restart()
		return "restarted"
	default:
		choices := [][]v1alpha1.Offer{{wholeGPU(), onDemand("*")}, {wholeGPU(), existing()}, {onDemand("1g.10gb", "3g.40gb", "1g.5gb")}}
		l.kinds.set(policy("everything", choices[l.random.Intn(len(choices))]...))
		return "edited"
	}
}

// ask has something at random allocated and prepared.
func (l *life) ask() string {
	l.serial++
	name := fmt.Sprintf("c%d", l.serial)
	profiles := []string{"1g.10gb", "1g.10gb", "1g.5gb", "2g.20gb", "3g.40gb", "3g.20gb", "4g.40gb", "1g.20gb", "1g.10gb+me"}
	request := slice("a", profiles[l.random.Intn(len(profiles))], int64(1+l.random.Intn(2)))
	if l.random.Intn(5) == 0 {
		request = wholes("a", 1)
	}
	c := l.schedule(name, request)
	if c == nil {
		return "did not fit"
	}
	l.claims[name] = c
	_, err := l.P(c)
	ok(l.t, err)
	l.prepared[name] = true
	return "prepared"
}

func (l *life) release() string {
	names := slices.Sorted(maps.Keys(l.claims))
	if len(names) == 0 {
		return "nothing to release"
	}
	name := names[l.random.Intn(len(names))]
	l.finish(l.claims[name])
	delete(l.claims, name)
	delete(l.prepared, name)
	return "released"
}

// agrees compares the hardware with what the prepared claims were allocated.
func (l *life) agrees() {
	l.t.Helper()
	want := map[string][]string{}
	for name := range l.prepared {
		for _, r := range l.claims[name].Status.Allocation.Devices.Results {
			gpu := sharing.GPUOf(r.Device)
			want[gpu] = append(want[gpu], placeOf(r.Device))
		}
	}
	for i := range 4 {
		gpu := fmt.Sprintf("gpu-%d", i)
		slices.Sort(want[gpu])
		have := l.instances(i)
		if slices.Equal(want[gpu], []string{gpu}) {
			same(l.t, "instances of "+gpu+", which is held whole", have, []string{})
			continue
		}
		same(l.t, "instances of "+gpu, have, append([]string{}, want[gpu]...))
	}
	same(l.t, "CDI files", len(l.cdiFiles()), len(l.prepared))
	ok(l.t, l.machine.Check())
}
