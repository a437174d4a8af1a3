// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package hardware compares the simulated GPU with a real one.
//
// The tests of Cotenant stand on test/sim, and that stands on tables and rules of
// which not all were seen on hardware. Where a GPU is at hand, `make hardware` asks
// it what the product asks of a GPU, makes a simulated machine of the same product,
// driver, MIG mode and partitions, asks that the same, and prints every difference.
// A product that the simulator does not have becomes a file for test/sim/products.
//
// Nothing is changed on the machine: the library is read through the package
// readonly. What differs from board to board by design (UUIDs, addresses, counts
// of processes, memory reserved by the driver) is compared by its form, or not.
//
// Of the driver's programs nvidia-smi is asked for what the library does not tell, the
// time-slice interval. Its words are documented nowhere: whether the product reads
// them is a part of the comparison.
//
// It may import api, mig, plugin/timeslice, test/sim and go-nvml; nothing imports it. The test that loads
// the real library has the build tag hardware.
package hardware
