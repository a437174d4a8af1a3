// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

// stateLayout is the version of state.json. It changes when an older program
// could not read a newer state.
const stateLayout = 3

// State is the whole machine at one instant. It is a value: what a reader got
// is its own.
type State struct {
	Layout int    `json:"layout"`
	Driver string `json:"driver"`
	CUDA   string `json:"cuda"`
	Seed   int64  `json:"seed"`
	// Options are what the machine was created with.
	Options Options `json:"options"`

	// BootID changes at every reboot; Load counts the times the driver was
	// loaded, so it changes at a reboot and at a driver reload.
	BootID string `json:"bootID"`
	Boots  int    `json:"boots"`
	Load   int    `json:"load"`

	// GPUs stand in the order of their NVML index.
	GPUs        []GPU     `json:"gpus"`
	NextOrdinal int       `json:"nextOrdinal"`
	Processes   []Process `json:"processes,omitempty"`
	Lingering   []Linger  `json:"lingering,omitempty"`
	// Ended are those that count no more although their client's file is there.
	Ended []ClientPart `json:"ended,omitempty"`
	// Daemons and Servers are those that run; like the processes of clients they
	// stand in files of their own, not in state.json.
	Daemons     []MPSDaemon `json:"daemons,omitempty"`
	Servers     []MPSServer `json:"servers,omitempty"`
	InstanceSeq uint64      `json:"instanceSeq"` // of the newest MIG instance ever

	// Events are the last maxEvents events, oldest first; EventSeq is the
	// number of the newest ever.
	Events   []Event `json:"events,omitempty"`
	EventSeq uint64  `json:"eventSeq"`

	// Bin names the stand-in programs in bin/ that the driver root contains.
	Bin []string `json:"bin,omitempty"`
	// Tree is the hash of the driver root that belongs to this state.
	Tree string `json:"tree"`

	// Clients are the processes that have entered the machine and live, and
	// Contexts what they had when their files were read.
	Clients  []string     `json:"-"`
	Contexts []ClientPart `json:"-"`
}

// GPU is one GPU and all its mutable settings.
type GPU struct {
	Ordinal  int    `json:"ordinal"` // the how-manieth GPU of this machine's life; never reused
	Product  string `json:"product"`
	UUID     string `json:"uuid"`
	PCI      string `json:"pci"`
	PCIeRoot string `json:"pcieRoot"`
	Minor    int    `json:"minor"`
	NUMA     int    `json:"numa"`
	ModuleID int    `json:"moduleID"`

	Lost        bool    `json:"lost,omitempty"` // fell off the bus
	MIG         MIGMode `json:"mig"`
	ComputeMode int     `json:"computeMode"` // an nvmlComputeMode_t
	Persistence bool    `json:"persistence"`
	TimeSlice   int     `json:"timeSlice,omitempty"` // 0 default, 1 short, 2 medium, 3 long
	// Limits are those of control groups.
	Limits []MemoryLimit `json:"limits,omitempty"`
	// GIs are the GPU instances in the order in which they were made.
	GIs []GPUInstance `json:"gis,omitempty"`
}

// MIGMode is what GetMigMode reports. The two differ while a change waits for a
// reset.
type MIGMode struct {
	Current bool `json:"current"`
	Pending bool `json:"pending"`
}

// The compute modes of NVML's header. 1 was EXCLUSIVE_THREAD and is gone.
const (
	ComputeDefault          = 0
	ComputeProhibited       = 2
	ComputeExclusiveProcess = 3
)

// ProcessKind says what of the GPU a process uses.
type ProcessKind string

const (
	Compute  ProcessKind = "C" // a CUDA context of its own
	Graphics ProcessKind = "G"
	MPS      ProcessKind = "M" // a client of an MPS server
)

// Process is a process on a GPU.
type Process struct {
	PID       int         `json:"pid"`
	GPU       int         `json:"gpu"` // index; used when adding, UUID stands afterwards
	UUID      string      `json:"uuid"`
	Kind      ProcessKind `json:"kind"`
	MemoryMiB uint64      `json:"memoryMiB"`
	Name      string      `json:"name,omitempty"`
	// GI and CI are the ids of the instances it runs on, both nil on a whole GPU.
	GI *int `json:"gi,omitempty"`
	CI *int `json:"ci,omitempty"`
	// Virtual processes exist only here and end by KillProcess. Others are real
	// ones and end with them: by PID and start time, seen from the PID
	// namespace in which they were added.
	Virtual   bool   `json:"virtual,omitempty"`
	StartTime uint64 `json:"startTime,omitempty"` // field 22 of /proc/<pid>/stat, clock ticks
	PIDSpace  string `json:"pidSpace,omitempty"`

	// Client is the one that the process belongs to, "" for one that AddProcess
	// added, and Context tells its processes apart.
	Client  string `json:"client,omitempty"`
	Context int    `json:"context,omitempty"`
	// Cgroups are the inodes of the control groups that it is in.
	Cgroups []uint64 `json:"cgroups,omitempty"`
}

// Event is something the driver reports to whoever had registered for it.
type Event struct {
	Seq  uint64  `json:"seq"`
	UUID string  `json:"uuid"`
	Type uint64  `json:"type"` // one nvmlEventType bit
	Data uint64  `json:"data"` // for an XID event its number
	GI   *uint32 `json:"gi,omitempty"`
	CI   *uint32 `json:"ci,omitempty"`
}

// Index is the NVML index of a GPU, or -1.
func (s *State) Index(uuid string) int {
	for i := range s.GPUs {
		if s.GPUs[i].UUID == uuid {
			return i
		}
	}
	return -1
}

// GPU finds a GPU by UUID. It is nil when the machine has none of that UUID.
func (s *State) GPU(uuid string) *GPU {
	if i := s.Index(uuid); i >= 0 {
		return &s.GPUs[i]
	}
	return nil
}

// freeMinor is the lowest minor number no GPU has.
func (s *State) freeMinor() int {
	used := map[int]bool{}
	for _, g := range s.GPUs {
		used[g.Minor] = true
	}
	minor := 0
	for used[minor] {
		minor++
	}
	return minor
}
