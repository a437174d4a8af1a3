// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

// Step is one reversible change to the node. Every step that can ever happen is
// in this file; a step is written to the journal before it runs, and it is
// undone from there.
//
// A step may run twice, and may be undone twice or without having run.
type Step interface {
	step()
	// GPUs are the PCI addresses it touches.
	GPUs() []string
}

// WriteSpec puts the CDI spec of a claim where the container runtime finds it;
// undone, the file is gone.
type WriteSpec struct {
	Claim   string
	Devices []SpecDevice
}

// SpecDevice is one CDI device: a name and the hardware behind it.
type SpecDevice struct {
	// Name is right of "=" in the device's id; unique in the claim.
	Name string
	// Address and UUID both name the GPU. If they no longer agree the board was
	// replaced, and what was granted is gone.
	Address string
	UUID    string
}

func (WriteSpec) step() {}

// GPUs returns the addresses of the spec's devices, each once.
func (s WriteSpec) GPUs() []string {
	var out []string
	seen := map[string]bool{}
	for _, d := range s.Devices {
		if !seen[d.Address] {
			seen[d.Address] = true
			out = append(out, d.Address)
		}
	}
	return out
}
