// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "github.com/cotenant-dev/cotenant/api/nvidia"

// What a setting was is noted before it is changed, and by whoever changes it
// first: those who come later copy the note, so that the last of them to go still
// knows it.

// ComputeMode says which processes may have a context on a GPU, in the words of
// nvidia-smi.
type ComputeMode string

// The compute modes.
const (
	ComputeDefault    ComputeMode = "Default"
	ComputeProhibited ComputeMode = "Prohibited"
	// ComputeExclusive: one process, which of an MPS daemon is its server.
	ComputeExclusive ComputeMode = "Exclusive_Process"
)

// No slot has a name like these keys.
func computeModeKey(address string) string { return address + "/compute-mode" }
func intervalKey(address string) string    { return address + "/time-slice" }

// WasComputeMode is the note that the compute mode of the GPU was this.
func WasComputeMode(address string, m ComputeMode) (string, Fact) {
	return computeModeKey(address), Fact{Was: string(m)}
}

// WasInterval is the note that the time-slice interval of the GPU was this; "" for a
// GPU that has none.
func WasInterval(address string, i nvidia.Interval) (string, Fact) {
	return intervalKey(address), Fact{Was: string(i)}
}

// ComputeMode returns what the compute mode of a GPU was, if that was noted.
func (f Facts) ComputeMode(address string) (ComputeMode, bool) {
	fact, noted := f[computeModeKey(address)]
	return ComputeMode(fact.Was), noted
}

// Interval returns what the time-slice interval of a GPU was, if that was noted.
func (f Facts) Interval(address string) (nvidia.Interval, bool) {
	fact, noted := f[intervalKey(address)]
	return nvidia.Interval(fact.Was), noted
}

// Reload takes up that the driver was loaded anew, which makes every setting the
// default: what a setting was before is gone with the load that it was noted in. It
// says whether anything was noted.
func (r *Record) Reload() bool {
	news := false
	for _, s := range r.Steps {
		switch s := s.(type) {
		case SetComputeMode:
			if _, noted := r.Facts.ComputeMode(s.Address); noted {
				news = r.Learn(WasComputeMode(s.Address, ComputeDefault)) || news
			}
		case SetInterval:
			if was, noted := r.Facts.Interval(s.Address); noted && was != "" {
				news = r.Learn(WasInterval(s.Address, nvidia.Default)) || news
			}
		}
	}
	return news
}
