// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// options are those of simcuda run.
type options struct {
	memory, device string
	hold           bool
	faultOn        string
	name           string
}

// program is a running simcuda.
type program struct {
	on      contexts
	devices []device
	out     *speaker
	lost    bool
}

// run runs the program and reports whether CUDA answered no error.
func (o options) run(h *host, in io.Reader, out io.Writer) (ok bool, err error) {
	miB, err := parseSize(o.memory)
	if err != nil {
		return false, err
	}
	signals, fault, err := o.signals()
	if err != nil {
		return false, err
	}
	defer signal.Stop(signals)
	p := &program{out: &speaker{w: out}}
	s, err := h.m.State()
	if err != nil {
		return false, err
	}
	p.devices = slices.DeleteFunc(h.devices(s), func(d device) bool { return o.device != "" && !d.is(o.device) })
	if len(p.devices) == 0 {
		return false, p.out.say(event{Event: "started", PID: os.Getpid(), UID: new(os.Getuid()), Error: sim.CUDANoDevice})
	}
	var e event
	if p.on, e, err = h.open(o.name, p.devices); err != nil {
		return false, err
	}
	for i := range p.devices {
		p.allocate(&p.devices[i], miB)
	}
	e.Devices = p.devices
	if err := p.out.say(e); err != nil || p.on == nil {
		return false, err
	}
	defer p.on.Close()
	ok = !slices.ContainsFunc(p.devices, func(d device) bool { return d.Error != "" })
	if o.hold && slices.ContainsFunc(p.devices, device.open) {
		return p.hold(in, signals, fault) && ok, nil
	}
	return ok, nil
}

// signals are those that end the program, and the one that makes it fault.
func (o options) signals() (chan os.Signal, os.Signal, error) {
	all := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	var fault os.Signal
	if o.faultOn != "" {
		n := unix.SignalNum(o.faultOn)
		if n == 0 {
			return nil, nil, fmt.Errorf("there is no signal %q: want one such as SIGUSR1", o.faultOn)
		}
		fault = n
		all = append(all, n)
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, all...)
	return c, fault, nil
}

// allocate takes memory and writes into the device what it got.
func (p *program) allocate(d *device, miB uint64) {
	d.Error, d.Message = d.keep()
	if p.on == nil || miB == 0 || !d.open() {
		return
	}
	if err := p.on.Allocate(d.UUID, miB); err != nil {
		d.fail(err)
		return
	}
	d.AllocatedMiB += miB
}

// keep is the error of a device without a context; another was of one call only.
func (d device) keep() (sim.CUDAError, string) {
	if d.open() {
		return "", ""
	}
	return d.Error, d.Message
}

// open reports whether there is a context on the device: one that ran out of
// memory still has it.
func (d device) open() bool { return d.Error == "" || d.Error == sim.CUDAOutOfMemory }

func (d device) is(id string) bool { return id == d.UUID || id == strconv.Itoa(d.Index) }

// hold stays until it is told to end, and reports whether the contexts were kept.
func (p *program) hold(in io.Reader, signals <-chan os.Signal, fault os.Signal) bool {
	lines := make(chan string)
	go read(in, lines)
	for {
		select {
		case why := <-p.on.Lost():
			p.lost = true
			_ = p.out.say(event{Event: "lost", Error: why, Devices: p.devices}) // nobody reads
		case s := <-signals:
			if s != fault {
				return !p.lost
			}
			_ = p.on.Fault() // it comes back as a loss
		case line, more := <-lines:
			if !more {
				lines = nil
			} else if p.obey(strings.Fields(line)) {
				return !p.lost
			}
		}
	}
}

func read(in io.Reader, lines chan<- string) {
	defer close(lines)
	for s := bufio.NewScanner(in); s.Scan(); {
		lines <- s.Text()
	}
}

// obey does what a line of standard input says, and reports whether that is to end.
func (p *program) obey(words []string) (end bool) {
	if len(words) == 0 {
		return false
	}
	var miB uint64
	var err error
	args := words[1:]
	if words[0] == "alloc" && len(args) > 0 {
		miB, err = parseSize(args[0])
		args = args[1:]
	}
	at := 0
	if len(args) > 0 {
		at = slices.IndexFunc(p.devices, func(d device) bool { return d.is(args[0]) })
	}
	switch {
	case words[0] == "exit":
		return true
	case words[0] == "fault":
		_ = p.on.Fault() // it comes back as a loss
	case err != nil, at < 0:
		_ = p.out.say(event{Event: "error", Error: sim.CUDAInvalidValue, Message: fmt.Sprintf("%q: want a size and a device that there is", words)})
	case words[0] == "alloc":
		p.allocate(&p.devices[at], miB)
		_ = p.out.say(event{Event: "allocated", Devices: p.devices[at : at+1]})
	case words[0] == "free":
		if err := p.on.Free(p.devices[at].UUID); err != nil {
			p.devices[at].fail(err)
		} else {
			p.devices[at].AllocatedMiB = 0
		}
		_ = p.out.say(event{Event: "freed", Devices: p.devices[at : at+1]})
	default:
		_ = p.out.say(event{Event: "error", Error: sim.CUDAInvalidValue, Message: fmt.Sprintf("%q: want alloc, free, fault or exit", words)})
	}
	return false
}
