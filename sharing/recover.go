// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "slices"

// Era is what effects do not outlive: the boot of the machine and the load of the
// NVIDIA driver.
type Era struct {
	Boot string
	Load string
}

// Seen is what a starting node finds: the world, and how far the journal can
// still be about it.
type Seen struct {
	// SameBoot is false when the journal was written before the last reboot.
	// Containers, device state and everything under /run ended with it.
	SameBoot bool
	// Specs are the UIDs of the claims that have a CDI spec file of our kind.
	Specs []string
}

// Repair is what makes world and journal agree again.
type Repair struct {
	// Forget: records whose effects ended with the boot. Nothing is undone.
	Forget []Record
	// Undo: tries and releases that a dead process left unfinished.
	Undo []Record
	// Redo: prepared claims, whose effects are looked at and re-made where they
	// are missing or stale.
	Redo []Record
	// Orphans: spec files that no record accounts for.
	Orphans []string
}

// Recover compares the journal's records with the world. What it returns may be
// carried out any number of times.
func Recover(recs []Record, seen Seen) Repair {
	var r Repair
	kept := map[string]bool{}
	for _, rec := range recs {
		switch {
		case !seen.SameBoot:
			r.Forget = append(r.Forget, rec)
		case rec.State == Prepared:
			kept[rec.UID] = true
			r.Redo = append(r.Redo, rec)
		default:
			// Undone from its record, spec file included.
			kept[rec.UID] = true
			r.Undo = append(r.Undo, rec)
		}
	}
	for _, uid := range seen.Specs {
		if !kept[uid] {
			r.Orphans = append(r.Orphans, uid)
		}
	}
	slices.Sort(r.Orphans)
	return r
}
