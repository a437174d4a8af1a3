// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// script is a control daemon that answers as the cases of a shell's `case` say.
func script(daemon, answers string) []byte {
	return fmt.Appendf(nil, `#!/bin/sh
PATH=/usr/bin:/bin
pipe=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ]; then
	: >"$pipe/control"
	%s
fi
while read -r cmd; do
case $cmd in
%s
*) ;;
esac
done
`, daemon, answers)
}

const stays = "exec sleep 1000"

// F37: a daemon that cannot be started is an answer at once that names the step,
// each time, and leaves nothing. Others are not delayed.
func TestF37StepFails(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(n *node)
		says  []string
	}{
		"no program": {func(n *node) { ok(n.t, os.Remove(filepath.Join(n.cfg.DriverRoot, "usr/bin", controlName))) },
			[]string{"no nvidia-cuda-mps-control", "--driver-root"}},
		"program is no file": {func(n *node) {
			path := filepath.Join(n.cfg.DriverRoot, "usr/bin", controlName)
			ok(n.t, os.Remove(path))
			ok(n.t, os.Mkdir(path, 0o755))
		}, []string{"no nvidia-cuda-mps-control"}},
		"spawn refused": {func(n *node) { n.program([]byte("#!/no/such/interpreter\n")) }, []string{"start it", "run ", "no such file"}},
		"no format":     {func(n *node) { n.program([]byte("neither ELF nor a script")) }, []string{"start it", "exec format error"}},
		"ends at once":  {func(n *node) { n.program(script("echo CUDA_MPS_PIPE_DIRECTORY must be set >&2; exit 7", "")) }, []string{"exit status 7", "must be set"}},
		"limit is not taken": {func(n *node) { n.program(script(stays, "get_default_active*) echo 100.0;;")) },
			[]string{"read its limits back", "it was set to 25 and is 100.0"}},
		"limit of memory": {func(n *node) {
			n.program(script(stays, "get_default_active*) echo 25.0;;\nget_default_device_pinned*) echo 18431M;;"))
		}, []string{"read its limits back", "default_device_pinned_mem_limit 0", "18431M"}},
		"no answer to it": {func(n *node) {
			n.program(script(stays, "get_default_active*) echo 25.0;;\nget_default_device_pinned*) echo;;"))
		},
			[]string{"read its limits back", "not an amount"}},
		"endless answer": {func(n *node) {
			n.program(script(stays, "get_default_active*) echo 25.0;;\nget_default_device_pinned*) head -c 99999 /dev/zero;;"))
		},
			[]string{"more than 65536 bytes"}},
		"limit is refused": {func(n *node) { n.program(script(stays, "set_default_active*) echo no such thing; exit 3;;")) },
			[]string{"set its limits", "exit status 3", "no such thing"}},
		"server does not take it": {func(n *node) {
			n.program(script(stays, "get_default_active*) echo 25.0;;\nget_default_device_pinned*) echo 18G;;\nget_server_list) echo 1;;\nget_active*) echo 100.0;;"))
		}, []string{"read its limits back", "active_thread_percentage 1"}},
		"no server": {func(n *node) {
			n.cfg.Command = 300 * time.Millisecond
			n.program(script(stays, "get_default_active*) echo 25.0;;\nget_default_device_pinned*) echo 18G;;"))
		}, []string{"start its server", "no server within 300ms"}},
		"tmpfs refused": {func(n *node) { n.cfg.ShmSize = "much" }, []string{"mount its shared memory", "invalid argument"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			ok(t, os.MkdirAll(n.cfg.Logs, 0o755))
			c.spoil(n)
			n.start()
			d := n.quarter()
			for range 4 {
				begun := time.Now()
				err := n.client.Ensure(t.Context(), d)
				says(t, err, append(c.says, d.ID)...)
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("answered after %s", took)
				}
				n.nothingLeft(d.ID)
				n.nothingRuns()
			}
			ok(t, n.client.Stop(t.Context(), d.ID))
			n.nothingLeft(d.ID)
		})
	}
}

// What keeps a daemon from starting may be gone the next time.
func TestStartsOnceThatIsMended(t *testing.T) {
	n := newNode(t)
	n.program([]byte("#!/no/such/interpreter\n"))
	n.start()
	d := n.quarter()
	says(t, n.client.Ensure(t.Context(), d), "start it")
	n.install(filepath.Join(programs, controlName))
	n.ensure(d)
	n.serves(d)
}

// slow makes the control daemon of a GPU of the machine take its time.
func (n *node) slow(uuid string, do sim.Do) {
	n.t.Helper()
	st, err := n.machine.State()
	ok(n.t, err)
	for index, g := range st.GPUs {
		if g.UUID == uuid {
			ok(n.t, n.machine.Inject(sim.Fault{ID: "slow", Match: sim.Match{Call: sim.MPSControlStart, GPU: &index}, Do: do}))
			return
		}
	}
	n.t.Fatalf("no GPU %s", uuid)
}

// F37: a daemon that is never ready is told as such before each caller's deadline,
// is there once, delays no other, and is gone when it is stopped.
func TestF37NeverReady(t *testing.T) {
	n := newNode(t)
	n.slow(n.uuids[0], sim.Do{Hang: true})
	n.start()
	d := n.quarter()
	for range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		err := n.client.Ensure(ctx, d)
		if ctx.Err() != nil {
			t.Error("answered after the deadline")
		}
		cancel()
		if says(t, err, d.ID, "does not serve yet", "wait until it answers"); api.ReasonOf(err) != api.Pending {
			t.Errorf("reason %q", api.ReasonOf(err))
		}
		n.control(d.ID)
		begun := time.Now()
		other := sharing.Daemon{ID: "gpu-1-half", UUIDs: n.uuids[1:], MultiUser: true}
		n.ensure(other)
		ok(t, n.client.Stop(t.Context(), other.ID))
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("another daemon took %s", took)
		}
	}
	all, err := mounts()
	ok(t, err)
	count := 0
	for _, m := range all {
		if strings.HasPrefix(m.source, source) {
			count++
		}
	}
	if count != 2 {
		t.Errorf("%d mounts, want one of each kind", count)
	}
	ok(t, n.client.Stop(t.Context(), d.ID))
	n.nothingLeft(d.ID)
	n.nothingRuns()
}

// A start that takes longer than any caller waits comes to an end: who asks again
// joins it.
func TestSlowStart(t *testing.T) {
	n := newNode(t)
	n.slow(n.uuids[0], sim.Do{Delay: 1500 * time.Millisecond})
	n.start()
	d := n.quarter()
	tries, begun := 0, time.Now()
	for err := error(context.DeadlineExceeded); err != nil; tries++ {
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		err = n.client.Ensure(ctx, d)
		cancel()
		if err != nil && (api.ReasonOf(err) != api.Pending || tries > 10) {
			t.Fatalf("try %d: %v", tries, err)
		}
	}
	if took := time.Since(begun); tries < 2 || took > 4*time.Second {
		t.Errorf("%d tries in %s", tries, took)
	}
	n.serves(d)
	if st := n.state(d.ID, "is ready", func(s mps.State) bool { return s.Ready }); st.Restarts != 0 {
		t.Errorf("it was started %d times", st.Restarts+1)
	}
}

// A stop does not wait for a start, and who waits for that hears of it.
func TestStopCancelsStart(t *testing.T) {
	n := newNode(t)
	n.slow(n.uuids[0], sim.Do{Hang: true})
	n.start()
	d := n.quarter()
	waits := make(chan error, 1)
	go func() { waits <- n.client.Ensure(t.Context(), d) }()
	n.state(d.ID, "starts", func(s mps.State) bool { return strings.Contains(s.Why, "wait until it answers") })
	begun := time.Now()
	ok(t, n.client.Stop(t.Context(), d.ID))
	if took := time.Since(begun); took > 6*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if err := <-waits; api.ReasonOf(err) != api.Canceled {
		t.Errorf("who waited heard %v", err)
	}
	n.nothingLeft(d.ID)
	ok(t, n.machine.ClearFaults())
	n.ensure(d)
	n.serves(d)
}

// A daemon that served and fails to start is tried again and again, and found when
// it can.
func TestBrokenUntilMended(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	inodes := n.inodes(d.ID)
	n.program([]byte("#!/no/such/interpreter\n"))
	ok(t, unix.Kill(n.control(d.ID), unix.SIGKILL))
	st := n.state(d.ID, "is broken", func(s mps.State) bool { return !s.Ready && s.Restarts >= 3 && strings.Contains(s.Why, "start it") })
	if st.BrokenSince == nil {
		t.Errorf("state %+v", st)
	}
	if l, err := n.client.Hello(t.Context()); err != nil || l.Unable != "" {
		t.Errorf("hello %+v, %v", l, err)
	}
	n.install(filepath.Join(programs, controlName))
	n.state(d.ID, "serves", func(s mps.State) bool { return s.Ready })
	n.serves(d)
	if now := n.inodes(d.ID); now != inodes {
		t.Errorf("inodes %v became %v", inodes, now)
	}
}

// A daemon that does not answer any more is told as broken, and in the end is
// started anew.
func TestMuteDaemon(t *testing.T) {
	n := newNode(t)
	n.cfg.Command, n.cfg.Mute, n.cfg.Quit = 200*time.Millisecond, 500*time.Millisecond, time.Second
	silence := filepath.Join(filepath.Dir(n.cfg.Root), "silence")
	answers := string(script("trap '' TERM; while :; do sleep 0.1; done", "get_default_active*) echo 25.0;;"))
	n.program([]byte(strings.Replace(answers, "while read", "while [ -e "+silence+" ]; do sleep 0.01; done\nwhile read", 1)))
	n.start()
	d := sharing.Daemon{ID: "mute", UUIDs: n.uuids[:1], ActiveThreads: 25}
	n.ensure(d)
	ok(t, os.WriteFile(silence, nil, 0o600))
	n.state(d.ID, "is told as mute", func(s mps.State) bool {
		return !s.Ready && strings.Contains(s.Why, "does not answer") && s.Restarts == 0
	})
	n.state(d.ID, "is started anew", func(s mps.State) bool { return s.Restarts == 1 && strings.Contains(s.Why, "did not answer for 500ms") })
	ok(t, os.Remove(silence))
	n.state(d.ID, "serves", func(s mps.State) bool { return s.Ready })
	ok(t, n.client.Stop(t.Context(), d.ID))
	n.nothingLeft(d.ID)
}
