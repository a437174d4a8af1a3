// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeslice reads and sets the time-slice interval of GPUs: how long a
// process runs before the next one does, when several have work.
//
// NVML has no call for it, so nvidia-smi of the driver's own installation is run,
// with the library of that installation. That takes from a tenth of a second to
// seconds, so it is run as rarely as what is true allows.
//
// The interval is the whole GPU's. It ends with the load of the driver, and, by what
// people report, with the last client of a GPU without persistence mode. The words of
// nvidia-smi are not documented: they are read in one place, and what cannot be read
// counts as the default.
//
// It may import api, mig and sharing.
package timeslice
