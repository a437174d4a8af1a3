// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim/mps"
	"github.com/cotenant-dev/cotenant/test/sim/programs"
)

// start starts a program of the machine. It is killed with the case.
func (e *env) start(bin, pipe, program string, args ...string) (*exec.Cmd, *bufio.Reader) {
	e.Helper()
	cmd := exec.Command(filepath.Join(bin, program), args...)
	cmd.Env = append(os.Environ(), "COTENANT_SIM_STATE="+e.m.Dir(), "COTENANT_SIM_DEV="+filepath.Join(e.m.Root(), "dev"),
		"CUDA_MPS_PIPE_DIRECTORY="+pipe, "CUDA_MPS_LOG_DIRECTORY="+pipe)
	if program == programs.MPSControl {
		s, err := e.m.State()
		e.do(err)
		cmd.Env = append(cmd.Env, "CUDA_VISIBLE_DEVICES="+s.GPUs[0].UUID)
	}
	out, err := cmd.StdoutPipe()
	e.do(err)
	e.do(cmd.Start())
	e.Cleanup(func() { e.kill(cmd) })
	return cmd, bufio.NewReader(out)
}

// kill ends a program as a power cut would, unless it was.
func (e *env) kill(cmd *exec.Cmd) {
	e.Helper()
	if cmd.ProcessState != nil {
		return
	}
	e.do(cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
}

// killedClient has a CUDA program run in a process of its own.
func killedClient(e *env) {
	bin := e.TempDir()
	e.do(programs.Build(bin, programs.CUDA))
	cmd, out := e.start(bin, bin, programs.CUDA, "run", "--hold", "--memory", "1Gi", "--device", "0")
	_, err := out.ReadString('\n')
	e.do(err)
	infos, ret := e.dev(0).GetComputeRunningProcesses()
	if len(infos) != 1 || infos[0].Pid != uint32(cmd.Process.Pid) || infos[0].UsedGpuMemory != 1<<30 {
		e.Errorf("on its GPU: %+v (%v), want process %d with 1 GiB", infos, ret, cmd.Process.Pid)
	}
	infos, ret = e.dev(1).GetComputeRunningProcesses()
	equal(e, "processes of the other GPU", len(infos), ret, 0)
	e.kill(cmd)
	infos, ret = e.dev(0).GetComputeRunningProcesses()
	equal(e, "processes after its end", len(infos), ret, 0)
}

// servedClient has an MPS daemon run, whose client this process is. That the
// server is a compute process and its clients are MPS processes is as nvidia-smi
// shows them.
func servedClient(e *env) {
	bin := e.TempDir()
	e.do(programs.Build(bin, programs.MPSControl, programs.MPSServer))
	// The path of a socket must be short.
	pipe, err := os.MkdirTemp("", "p")
	e.do(err)
	e.Cleanup(func() { e.do(os.RemoveAll(pipe)) })
	e.start(bin, pipe, programs.MPSControl, "-f", "-M")
	e.until("the daemon takes commands", func() bool { return mps.Send(pipe, strings.NewReader("get_server_list"), &strings.Builder{}) == nil })
	uuid, ret := e.dev(0).GetUUID()
	e.is("UUID", ret, nvml.SUCCESS)
	client, err := mps.Dial(pipe, mps.Join{Devices: []string{uuid}})
	e.do(err)
	e.do(client.Allocate(uuid, 1024))
	var server strings.Builder
	e.do(mps.Send(pipe, strings.NewReader("get_server_list"), &server))
	pid, err := strconv.Atoi(strings.TrimSpace(server.String()))
	e.do(err)

	infos, ret := e.dev(0).GetComputeRunningProcesses()
	if len(infos) != 1 || infos[0].Pid != uint32(pid) {
		e.Errorf("compute processes: %+v (%v), want the server, %d", infos, ret, pid)
	}
	infos, ret = e.dev(0).GetMPSComputeRunningProcesses()
	if len(infos) != 1 || infos[0].Pid != uint32(os.Getpid()) || infos[0].UsedGpuMemory != 1<<30 {
		e.Errorf("MPS processes: %+v (%v), want this process, %d, with 1 GiB", infos, ret, os.Getpid())
	}
	e.do(syscall.Kill(pid, syscall.SIGKILL))
	<-client.Lost()
	e.do(client.Close())
	e.until("nothing is on the GPU after the server was killed", func() bool {
		all, ret := e.dev(0).GetComputeRunningProcesses()
		clients, ret2 := e.dev(0).GetMPSComputeRunningProcesses()
		return ret == nvml.SUCCESS && ret2 == nvml.SUCCESS && len(all)+len(clients) == 0
	})
}

// until waits for a condition.
func (e *env) until(what string, holds func() bool) {
	e.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.Fatalf("%s: not within 20 s", what)
		}
	}
}
