// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "slices"

// room is what GPU instances take of a GPU. A GPU instance fits when its memory
// units are free, its profile's Max is not reached, and compute slices,
// multiprocessors and every kind of engine add up to no more than the GPU has.
// These rules reproduce every published table: that only one profile with media
// extensions fits, and that one with all media engines leaves room only for
// those without, follow from the engines.
type room struct {
	whole figures
	taken figures
	units uint64      // bits of the occupied memory units
	count map[int]int // instances by profile id
}

// figures are the amounts that add up: compute slices, multiprocessors, and
// copy, decoding, encoding, JPEG and optical flow engines.
type figures [7]int

func (pr Profile) figures() figures {
	return figures{pr.ComputeSlices, pr.SMs, pr.CopyEngines, pr.Decoders, pr.Encoders, pr.JPEG, pr.OFA}
}

func (p Product) room() *room { return &room{whole: p.Whole().figures(), count: map[int]int{}} }

// take occupies a placement, or answers false and occupies nothing.
func (r *room) take(pr Profile, start int) bool {
	bits := (uint64(1)<<pr.MemoryUnits - 1) << start
	if !slices.Contains(pr.Starts, start) || r.units&bits != 0 || r.count[pr.ID] >= pr.Max {
		return false
	}
	sum := r.taken
	for i, n := range pr.figures() {
		if sum[i] += n; sum[i] > r.whole[i] {
			return false
		}
	}
	r.taken = sum
	r.units |= bits
	r.count[pr.ID]++
	return true
}

// occupied is the room that gis take. It is false when they break the rules.
func (p Product) occupied(gis []GPUInstance) (*room, bool) {
	r := p.room()
	for _, gi := range gis {
		pr, ok := p.ProfileByID(gi.ProfileID)
		if !ok || gi.Size != pr.MemoryUnits || !r.take(pr, gi.Start) {
			return r, false
		}
	}
	return r, true
}

// Fits reports whether an instance of the profile can be made at start beside
// the instances gis.
func (p Product) Fits(gis []GPUInstance, profileID, start int) bool {
	pr, ok := p.ProfileByID(profileID)
	r, sound := p.occupied(gis)
	return ok && sound && r.take(pr, start)
}

// Remaining is how many more instances of the profile can be made beside gis.
func (p Product) Remaining(gis []GPUInstance, pr Profile) int {
	r, sound := p.occupied(gis)
	n := 0
	for _, start := range pr.Starts {
		if sound && r.take(pr, start) {
			n++
		}
	}
	return n
}

// choose is where the driver puts an instance for which no placement is given.
// Its algorithm is not published; this one replays what tools show on hardware.
// On parts of eight units seven of one slice go to 6, 4, 5, 0, 1, 2, 3, so to the
// upper half first and there to the last before the others; larger ones, and all
// on an RTX PRO 6000, go to the lowest start. So 19,19,14 leave no room for 9, as
// in NVIDIA's MIG user guide.
func (p Product) choose(gis []GPUInstance, pr Profile) (start int, ok bool) {
	order := pr.Starts
	if pr.ComputeSlices == 1 && p.Whole().MemoryUnits == 8 {
		half := (len(order) + 1) / 2
		lower, upper, last := order[:half], order[half:len(order)-1], order[len(order)-1:]
		order = slices.Concat(last, upper, lower)
	}
	for _, start := range order {
		if p.Fits(gis, pr.ID, start) {
			return start, true
		}
	}
	return 0, false
}
