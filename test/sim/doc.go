// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package sim is a simulated machine with NVIDIA GPUs.
//
// No one should need a GPU to run, test or demonstrate Cotenant, and the tests
// must do what a lab cannot: end a process between two calls into the driver.
// So the machine lives in a directory, not in a process: every process and
// container that opens the directory sees one machine, and what it did is
// still there after it was killed.
//
// The directory holds
//
//	state.json   what the machine is; replaced whole, by rename
//	clients/     what each process that entered the machine has, a file each
//	faults.json  what shall go wrong, and how often it already did
//	calls.log    the calls that may have changed the machine, and nvidia-smi's
//	lock         the flock under which both change
//	root/        the driver root: dev, proc, sys and usr as the driver shows them
//	root.json    what root was last rendered from
//	loads/       the past incarnations of directories the driver re-makes
//	bin/         copies of the stand-in programs given at creation
//
// Whoever may write state.json is the machine's operator: root, and what stands
// for the driver. A process that uses a GPU may be any user in any container: it
// changes its own file in clients/ alone, to which the kernel lets go of its lock
// when it ends, and what it wrote there counts as far as it can be so.
//
// Invariants: a reader sees the state before or after an operation, never
// between; an operation killed at any instant is either not done or done, and
// the next one renders what it left unrendered; nothing kept in memory from one
// operation to the next is believed without the files.
//
// The package knows no NVML type: package nvmlapi puts the Go interface on it
// and cmd/libnvidia-ml the C library. Only tests and the programs under
// test/sim may import it; nothing that ships does.
package sim
