// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

// MPSDaemon is a running MPS control daemon.
type MPSDaemon struct {
	Client  string   `json:"client"`
	PID     int      `json:"pid"`
	Devices []string `json:"devices"` // of its CUDA_VISIBLE_DEVICES, whether there are such or not
	// PipeDirectory is where it listens, by the name that it knows.
	PipeDirectory string `json:"pipeDirectory"`
	MultiUser     bool   `json:"multiUser,omitempty"`
}

// MPSServer is a running MPS server. It is also a process on each of its devices.
type MPSServer struct {
	Client  string   `json:"client"`
	PID     int      `json:"pid"`
	Daemon  int      `json:"daemon"` // PID of the control daemon that started it
	UID     int      `json:"uid"`    // of the user whose clients it takes, when it is not everybody's
	Devices []string `json:"devices"`
}

// Calls of the MPS programs, for faults to match. Each start is a call for every
// device of the daemon, with the GPU of that device. A command is a call of its
// own that is about no GPU: MPSCommand followed by its name.
const (
	MPSControlStart = "nvidia-cuda-mps-control start"
	MPSServerStart  = "nvidia-cuda-mps-server start"
	MPSCommand      = "nvidia-cuda-mps-control command "
)

// MaxMPSClients is how many clients a server takes on a device: 48, from CUDA 13.1
// on 60, and in proportion fewer on a part of a GPU (NVIDIA MPS documentation).
func (s *State) MaxMPSClients(d Device) int {
	n := 48
	if atLeast(s.CUDA, 13, 1) {
		n = 60
	}
	return max(1, int(float64(n)*d.Share))
}
