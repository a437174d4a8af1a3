// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

// Version is the apiVersion of the configuration.
const Version = "resource.nvidia.com/v1beta1"

// Kind says which devices a configuration is for.
type Kind string

const (
	// KindGPU is for whole GPUs.
	KindGPU Kind = "GpuConfig"
	// KindMIG is for MIG devices.
	KindMIG Kind = "MigDeviceConfig"
)

// Strategy is how the containers of a claim share its devices.
type Strategy string

const (
	StrategyTimeSlicing Strategy = "TimeSlicing"
	StrategyMPS         Strategy = "MPS"
)

// Config is a configuration that was decoded, defaulted and validated.
type Config struct {
	Kind Kind
	// Sharing is nil when there is nothing to apply.
	Sharing *Sharing
}

// Sharing is what is asked for.
type Sharing struct {
	Strategy Strategy
	// Interval is set for time-slicing of whole GPUs, else "": the GPU of a MIG
	// device is not the claim's alone.
	Interval Interval
	// MPS is set for that strategy, else nil.
	MPS *MPS
}

// Interval names how long a process may keep the GPU before another one gets it.
type Interval string

const (
	Default Interval = "Default"
	Short   Interval = "Short"
	Medium  Interval = "Medium"
	Long    Interval = "Long"
)

// Level is the number by which `nvidia-smi compute-policy --set-timeslice` knows
// the interval: 0 to 3. What is no interval has the level of the default.
func (i Interval) Level() int {
	switch i {
	case Short:
		return 1
	case Medium:
		return 2
	case Long:
		return 3
	}
	return 0
}

func (i Interval) known() bool { return i == Default || i.Level() > 0 }

// MPS are the settings of the control daemon that serves the devices of a claim.
// They hold for each client process, not for all of a container.
type MPS struct {
	// ActiveThreads is the percentage of the multiprocessors that a client may use,
	// 0 to 100; nil when it was not set.
	ActiveThreads *int
	// Memory is how much a client may have on each device; nil for no limit.
	Memory *Limit
	// PerDevice stands in place of Memory on single devices. A key is a device's
	// position among the sorted UUIDs, or its UUID. Which keys exist is known when
	// the devices are: see Pinned.
	PerDevice map[string]Limit
	// MultiUser: processes of several users are served at a time.
	MultiUser bool
}

// Limit is an amount of device memory.
type Limit struct {
	// MiB is rounded down, and 0 when it is less than one.
	MiB int64
	// Quantity is how it was written.
	Quantity string
}
