// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// A test that needs another process runs this test binary again as a worker:
// these variables say what it does and on which machine.
const (
	workerRole = "COTENANT_SIM_TEST_ROLE"
	workerDir  = "COTENANT_SIM_TEST_DIR"
)

func TestMain(m *testing.M) {
	role, ok := os.LookupEnv(workerRole)
	if !ok {
		os.Exit(m.Run())
	}
	if err := work(role, os.Getenv(workerDir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// worker is the command that runs a worker.
func worker(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), workerRole+"="+role, workerDir+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

func work(role, dir string) error {
	switch role {
	case "operate":
		return operateForEver(dir)
	case "client":
		return beClient(dir)
	case "client-of-nobody":
		if os.Geteuid() == 0 {
			if err := errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
				return err
			}
		}
		return beClient(dir)
	case "crash":
		return changeOnce(dir)
	case "drop-mknod":
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_MKNOD, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
			return err
		}
		if err := os.Setenv(workerRole, "create"); err != nil {
			return err
		}
		return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	case "create":
		m, err := sim.Create(dir, sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}}})
		if err != nil {
			return err
		}
		return m.Check()
	}
	return fmt.Errorf("there is no worker role %q", role)
}

// operateForEver does random operations until it is killed or one of them
// fails for another reason than that it makes no sense at that moment.
func operateForEver(dir string) error {
	m, err := sim.Open(dir)
	if err != nil {
		return err
	}
	pid := 1_000_000 + os.Getpid()
	var client *sim.Client
	for {
		s, err := m.State()
		if err != nil {
			return err
		}
		gpu := rand.IntN(len(s.GPUs) + 1)
		switch rand.IntN(18) {
		case 0:
			err = m.LoseGPU(gpu)
		case 1:
			err = m.RestoreGPU(gpu)
		case 2:
			if len(s.GPUs) > 2 {
				err = m.RemoveGPU(gpu)
			}
		case 3:
			if len(s.GPUs) < 4 {
				_, err = m.AddGPU(sim.GPUConfig{Product: "T4"})
			}
		case 4:
			err = m.Reorder(rand.Perm(len(s.GPUs)), true)
		case 5:
			err = m.AddProcess(sim.Process{PID: pid, GPU: gpu, MemoryMiB: 100, Virtual: true})
		case 6:
			err = m.KillProcess(pid)
		case 7:
			err = m.Reboot()
		case 8:
			err = m.ReloadDriver()
		case 9:
			err = m.Inject(sim.Fault{Match: sim.Match{Call: "never"}, Do: sim.Do{Delay: time.Nanosecond}})
		case 10:
			err = m.ClearFaults()
		case 11:
			err = m.SetMIG(gpu, true)
		case 12:
			err = m.CreateInstance(gpu, []int{19, 14, 9}[rand.IntN(3)], rand.IntN(7), true)
		case 13:
			err = m.DestroyInstances(gpu)
		case 14:
			err = m.ResetGPU(gpu)
		case 15:
			if client != nil {
				_ = client.Leave() // its file is closed whatever it answers
			}
			client, err = m.Enter()
		case 16:
			if client != nil {
				err = client.Change(onFirst(client))
			}
		case 17:
			err = errors.Join(m.PresetTimeSlice(gpu, rand.IntN(4)), m.PresetComputeMode(gpu, sim.ComputeExclusiveProcess))
		}
		// An operation the machine refuses has no effect; a machine that
		// cannot be read is what the test is about.
		if _, broken := m.State(); broken != nil {
			return errors.Join(broken, err)
		}
	}
}

// onFirst puts a client on the first GPU.
func onFirst(c *sim.Client) func(*sim.State, *sim.Entry) error {
	return func(s *sim.State, e *sim.Entry) error {
		d, err := s.Device(s.GPUs[0].UUID)
		if err != nil {
			return err
		}
		p := d.At(sim.Process{PID: os.Getpid(), Kind: sim.Compute, Name: "client", Client: c.ID(), Context: len(e.Processes) + 1, MemoryMiB: 64})
		e.Processes = append(e.Processes, p)
		return errors.Join(s.Open(d, p), s.Take(d, p, 64))
	}
}

// nobody is a user who owns nothing.
const nobody = 65534

// beClient is on the first GPU until its standard input ends, or it is killed.
func beClient(dir string) error {
	m, err := sim.Open(dir)
	if err != nil {
		return err
	}
	c, err := m.Enter()
	if err != nil {
		return err
	}
	if err := c.Change(onFirst(c)); err != nil {
		return err
	}
	fmt.Println("on")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return c.Leave()
}

// changeOnce sets the first GPU's compute mode as a call into the driver.
func changeOnce(dir string) error {
	m, err := sim.Open(dir)
	if err != nil {
		return err
	}
	m.Change(sim.Call{Name: "nvmlDeviceSetComputeMode"}, func(s *sim.State) sim.Code {
		s.GPUs[0].ComputeMode = sim.ComputeProhibited
		return sim.Success
	})
	return errors.New("the worker should be dead")
}
