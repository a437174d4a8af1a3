// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a control daemon that was started, until it is reaped.
type child struct {
	pid     int
	process *os.Process
	// done is closed when it has ended; err says how.
	done chan struct{}
	err  error
	env  []string
	path string
	// told is the file with what it wrote.
	told string
}

// outputName is the log file of what a daemon writes to its standard output.
const outputName = "output.log"

// spawn starts the daemon of a place and returns when it is one, or why it is not.
func (p place) spawn(prog program, uuids []string, multiUser bool) (*child, error) {
	arg, err := json.Marshal(entry{Shm: p.shm, Pipe: p.pipe, Logs: p.logs, Root: prog.root, Path: prog.path, Args: daemonArgs(multiUser)})
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(filepath.Join(p.logs, outputName), os.O_CREATE|os.O_APPEND|os.O_WRONLY|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	defer out.Close()
	status, childs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	defer status.Close()
	cmd := exec.Command(p.cfg.Enter[0], append(p.cfg.Enter[1:len(p.cfg.Enter):len(p.cfg.Enter)], string(arg))...)
	cmd.Env = prog.environment(os.Environ(), p.dir, uuids)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, []*os.File{childs}
	// A session of its own: what interrupts the supervisor does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	childs.Close()
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	c := &child{pid: cmd.Process.Pid, process: cmd.Process, done: make(chan struct{}), env: cmd.Env, path: prog.path, told: out.Name()}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := c.became(status); err != nil {
		c.kill()
		return nil, fmt.Errorf("start it: %w", err)
	}
	return c, nil
}

// becoming bounds what lies between fork and exec: some mounts.
const becoming = 10 * time.Second

// became waits until the child is the daemon.
func (c *child) became(status *os.File) error {
	if err := status.SetReadDeadline(time.Now().Add(becoming)); err != nil {
		return err
	}
	why, err := io.ReadAll(io.LimitReader(status, 4<<10))
	if err != nil {
		return fmt.Errorf("it did not get as far as the control program: %w", err)
	}
	if len(why) > 0 {
		return errors.New(string(why))
	}
	return nil
}

// ended says how, with the last that it wrote.
func (c *child) ended() error {
	how := "with exit code 0"
	if c.err != nil {
		how = "with " + c.err.Error()
	}
	if last := lastLine(c.told); last != "" {
		return fmt.Errorf("the control daemon ended %s: %s", how, last)
	}
	return fmt.Errorf("the control daemon ended %s", how)
}

func (c *child) alive() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// endsNow says whether it has ended, also if it is about to be reaped.
func (c *child) endsNow() bool {
	if _, err := os.Stat("/proc/" + strconv.Itoa(c.pid) + "/root/"); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	<-c.done
	return true
}

// kill ends it at once, and returns when it is reaped.
func (c *child) kill() {
	_ = c.process.Kill() // fails only when it has ended
	<-c.done
}

// end asks it to end and, when patience is over, makes it.
func (c *child) end(patience time.Duration) {
	if !c.alive() {
		return
	}
	_ = c.process.Signal(unix.SIGTERM) // fails only when it has ended
	select {
	case <-c.done:
	case <-time.After(patience):
		c.kill()
	}
}

// lastLine returns the last line of a file, as far as it fits a message.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := f.Seek(-512, io.SeekEnd); err != nil {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return ""
		}
	}
	raw, err := io.ReadAll(io.LimitReader(f, 512))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(raw), "?")), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
