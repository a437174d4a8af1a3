// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"maps"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
)

// Claim is a ResourceClaim as far as this node is concerned: the allocation
// results that name our driver and our pool.
type Claim struct {
	UID       string
	Namespace string
	Name      string
	Asks      []Ask
	// Pods are those that may use it.
	Pods []Pod
}

// Shares says whether the claim has a share of something.
func (c Claim) Shares() bool {
	for _, a := range c.Asks {
		if TypeOf(a.Device) == api.TypeShare {
			return true
		}
	}
	return false
}

// Ask is one allocation result: one device for one request.
type Ask struct {
	// Request is as the result has it, "gpu" or "gpu/small".
	Request string
	// Device is the published name, "gpu-0".
	Device string
	// Share is the share id of a device that several claims hold; "" on others.
	Share string
	// Admin asks see a device without holding it.
	Admin bool
	// Settings are those that a configuration has for it; nil when none has.
	Settings *Settings
}

// Pod is a pod that a claim is reserved for; it is in the claim's namespace.
type Pod struct {
	Name, UID string
}

// Settings are what a GpuConfig or a MigDeviceConfig wants of a device that a claim
// has alone.
type Settings struct {
	nvidia.Sharing
	// Group tells which asks were reached by one and the same configuration: one
	// MPS daemon serves all of its devices.
	Group int
}

// Hold is the journal's record that a claim has a slot. It exists from the
// intent on, so that a half-prepared claim already keeps others away.
type Hold struct {
	Slot      string
	Claim     string
	Share     string
	Namespace string
	Name      string
	Admin     bool
	// Found: the partition was there before the claim and stays after it.
	Found bool
}

// Grant is what a prepared claim got; the same on every repeat.
type Grant struct {
	Devices []Granted
}

// Granted is the answer to one Ask.
type Granted struct {
	Request string
	Pool    string
	Device  string
	Share   string
	CDI     []string
}

// State is where a claim is between its first intent and its end.
type State string

const (
	// Preparing: steps are intended, some may have run. Nothing was answered.
	Preparing State = "preparing"
	// Prepared: every step has run, the grant is stored.
	Prepared State = "prepared"
	// Releasing: the steps are being undone.
	Releasing State = "releasing"
)

// Record is what the journal knows about one claim.
type Record struct {
	UID       string
	Namespace string
	Name      string
	State     State
	Steps     []Step
	// Facts are what the steps have learnt so far.
	Facts Facts
	Holds []Hold
	Grant *Grant
}

// Who names the claim for people: by its UID where the name went with a lost
// journal.
func (r Record) Who() string {
	if r.Name == "" {
		return r.UID
	}
	return r.Namespace + "/" + r.Name
}

// Facts are what steps learnt, by the slot of a partition or the key of a setting.
type Facts map[string]Fact

// Vacant in place of the id of a GPU instance says that the place was found empty,
// and that no id was noted yet.
const Vacant = -1

// Fact is what is known of one partition, or of one setting. UUID is "" until the
// partition has its compute instance; Was is what the setting was.
type Fact struct {
	GI, CI int
	UUID   string
	Was    string
}

// with returns the facts with one more.
func (f Facts) with(slot string, fact Fact) Facts {
	out := maps.Clone(f)
	if out == nil {
		out = Facts{}
	}
	out[slot] = fact
	return out
}

// Unlearn drops what is known of a slot.
func (r *Record) Unlearn(slot string) {
	r.Facts = maps.Clone(r.Facts)
	delete(r.Facts, slot)
}

// Learn notes a fact, and says whether it is news.
func (r *Record) Learn(slot string, fact Fact) bool {
	if old, known := r.Facts[slot]; known && old == fact {
		return false
	}
	r.Facts = r.Facts.with(slot, fact)
	return true
}
