// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"fmt"

	"github.com/cotenant-dev/cotenant/sharing"
)

// The stored forms. They are private and change only with the layout.

type storedClaim struct {
	State     string       `json:"state"`
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Steps     []storedStep `json:"steps,omitempty"`
	// Facts are by slot, and of settings by their key.
	Facts map[string]storedFact `json:"facts,omitempty"`
	Holds []storedHold          `json:"holds,omitempty"`
	Grant []storedDevice        `json:"grant,omitempty"`
}

type storedFact struct {
	GI   int    `json:"gi"`
	CI   int    `json:"ci"`
	UUID string `json:"uuid,omitempty"`
	// Was is what a setting was.
	Was string `json:"was,omitempty"`
}

type storedHold struct {
	Slot  string `json:"slot"`
	Share string `json:"share,omitempty"`
	Admin bool   `json:"admin,omitempty"`
	Found bool   `json:"found,omitempty"`
}

type storedDevice struct {
	Request string   `json:"request"`
	Pool    string   `json:"pool"`
	Device  string   `json:"device"`
	Share   string   `json:"share,omitempty"`
	CDI     []string `json:"cdi"`
}

// storedHolder is the value below holds/<slot>/<uid>/<share>.
type storedHolder struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Admin     bool   `json:"admin,omitempty"`
	Found     bool   `json:"found,omitempty"`
}

type storedFence struct {
	Condition string `json:"condition"`
	Why       string `json:"why"`
}

func encodeClaim(r sharing.Record) ([]byte, error) {
	c := storedClaim{State: string(r.State), Namespace: r.Namespace, Name: r.Name}
	for _, h := range r.Holds {
		c.Holds = append(c.Holds, storedHold{Slot: h.Slot, Share: h.Share, Admin: h.Admin, Found: h.Found})
	}
	if r.Grant != nil {
		for _, d := range r.Grant.Devices {
			c.Grant = append(c.Grant, storedDevice(d))
		}
	}
	for slot, f := range r.Facts {
		if c.Facts == nil {
			c.Facts = map[string]storedFact{}
		}
		c.Facts[slot] = storedFact(f)
	}
	for _, s := range r.Steps {
		step, err := encodeStep(s)
		if err != nil {
			return nil, err
		}
		c.Steps = append(c.Steps, step)
	}
	return json.Marshal(c)
}

func decodeClaim(uid string, raw []byte) (sharing.Record, error) {
	var c storedClaim
	if err := json.Unmarshal(raw, &c); err != nil {
		return sharing.Record{}, fmt.Errorf("record of claim %s: %w", uid, err)
	}
	r := sharing.Record{UID: uid, Namespace: c.Namespace, Name: c.Name, State: sharing.State(c.State)}
	switch r.State {
	case sharing.Preparing, sharing.Prepared, sharing.Releasing:
	default:
		return sharing.Record{}, fmt.Errorf("record of claim %s: unknown state %q", uid, c.State)
	}
	for _, h := range c.Holds {
		r.Holds = append(r.Holds, sharing.Hold{Slot: h.Slot, Claim: uid, Share: h.Share, Namespace: c.Namespace, Name: c.Name, Admin: h.Admin, Found: h.Found})
	}
	r.Grant = &sharing.Grant{Devices: []sharing.Granted{}}
	for _, d := range c.Grant {
		r.Grant.Devices = append(r.Grant.Devices, sharing.Granted(d))
	}
	for slot, f := range c.Facts {
		r.Learn(slot, sharing.Fact(f))
	}
	for i, s := range c.Steps {
		step, ok := s.decode(uid)
		if !ok {
			return sharing.Record{}, fmt.Errorf("record of claim %s: step %d is of a kind this release does not know", uid, i)
		}
		r.Steps = append(r.Steps, step)
	}
	return r, nil
}
