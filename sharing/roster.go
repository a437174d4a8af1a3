// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Known is a GPU that this node named before: its last known facts and the boot
// in which it was last seen.
type Known struct {
	GPU
	Boot string
}

// Look is one look at the hardware.
type Look struct {
	// Boot is the id of the boot it was taken in.
	Boot string
	// GPUs are those that answered every question; they have no Name yet.
	GPUs []Present
	// Sick are those that did not. Address may be "" when not even that could
	// be read.
	Sick []Sick
}

// Sick is a GPU that is there and cannot be used.
type Sick struct {
	Address string
	Why     string
}

// Roster turns a look into the devices of the node, in the order of their
// addresses, and what must be remembered of them before they are published.
//
// A GPU that was seen in this boot and no longer answers stays on the roster as
// lost, with the facts it had: a published device is not withdrawn under a claim.
// One that has not been seen since the last reboot was taken out of the machine.
// A partitioned GPU does not say whether it has memory limits: it has them if it had
// them before, with the same driver.
// suspect, when not "", holds every GPU; a fence sets one apart.
func Roster(look Look, known map[string]Known, fences map[string]Fence, suspect string) ([]Device, []Known) {
	names := Names{}
	for address, k := range known {
		names[address] = k.Name
	}
	var facts []GPU
	for _, g := range look.GPUs {
		facts = append(facts, g.GPU)
	}
	names = names.Assign(facts)
	var devices []Device
	var news []Known
	seen := map[string]bool{}
	for _, g := range look.GPUs {
		g.Name = names[g.Address]
		if k := known[g.Address]; g.On && k.UUID == g.UUID && k.DriverVersion == g.DriverVersion {
			g.MemoryLimits = k.MemoryLimits
		}
		seen[g.Address] = true
		devices = append(devices, conditioned(g, fences, suspect))
		if k := (Known{GPU: g.GPU, Boot: look.Boot}); !sameKnown(known[g.Address], k) {
			news = append(news, k)
		}
	}
	why := map[string]string{}
	for _, s := range look.Sick {
		why[s.Address] = s.Why
	}
	for address, k := range known {
		if !seen[address] && k.Boot == look.Boot {
			devices = append(devices, lost(k.GPU, why[address]))
		}
	}
	slices.SortFunc(devices, func(a, b Device) int { return byAddress(a.GPU, b.GPU) })
	slices.SortFunc(news, func(a, b Known) int { return byAddress(a.GPU, b.GPU) })
	return devices, news
}

func conditioned(g Present, fences map[string]Fence, suspect string) Device {
	d := Device{GPU: g.GPU, Condition: Ready, MIGMode: g.MIGMode, Instances: slices.Clone(g.Instances)}
	f, fenced := fences[g.Address]
	switch {
	case fenced && f.Condition == Stuck:
		d.Stuck = f.Why
	case fenced:
		d.Condition, d.Why = f.Condition, f.Why
	}
	if suspect != "" && d.Condition == Ready {
		d.Condition, d.Why = Held, suspect
	}
	return d
}

func lost(g GPU, why string) Device {
	if why == "" {
		why = "the driver no longer lists it"
	}
	return Device{GPU: g, Condition: Lost, Why: why}
}

func sameKnown(a, b Known) bool { return reflect.DeepEqual(a, b) }

// Summary says in one line what is on the roster, for the log.
func Summary(devices []Device) string {
	var parts []string
	for _, d := range devices {
		s := fmt.Sprintf("%s %s", d.Name, d.Product)
		if d.Condition != Ready {
			s += fmt.Sprintf(" (%s: %s)", strings.ToLower(string(d.Condition)), d.Why)
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "no GPU"
	}
	return strings.Join(parts, ", ")
}
