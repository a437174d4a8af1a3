// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// command is one that the daemon knows.
type command struct {
	least, most int // arguments
	run         func(d *daemon, args []string) (string, error)
}

// commands are those of NVIDIA's documentation, and fatal-fault.
func commands() map[string]command {
	set := func(n int, f func(s *settings, args []string) (string, error)) command {
		return command{n, n, func(d *daemon, args []string) (string, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return f(&d.defaults, args)
		}}
	}
	first := func(f func(s *settings, arg string) (string, error)) command {
		return set(1, func(s *settings, args []string) (string, error) { return f(s, args[0]) })
	}
	return map[string]command{
		"get_server_list":                      {0, 0, (*daemon).serverList},
		"start_server":                         {2, 2, (*daemon).startServer},
		"set_default_active_thread_percentage": first((*settings).setPercentage),
		"get_default_active_thread_percentage": set(0, func(s *settings, _ []string) (string, error) { return s.percentage(), nil }),
		"set_default_device_pinned_mem_limit":  set(2, func(s *settings, args []string) (string, error) { return s.setPin(args[0], args[1]) }),
		"get_default_device_pinned_mem_limit":  first(func(s *settings, arg string) (string, error) { return s.pinText(arg), nil }),
		"set_default_client_priority":          first((*settings).setPriority),
		"get_default_client_priority":          set(0, func(s *settings, _ []string) (string, error) { return strconv.Itoa(s.Priority), nil }),
		"device_query":                         {0, 1, func(d *daemon, _ []string) (string, error) { return strings.Join(d.devicesAt(), "\n"), nil }},
		"quit":                                 {0, 2, (*daemon).quitCommand},
		orderStatus:                            toServer(orderStatus, 1, 1),
		orderClients:                           toServer(orderClients, 1, 1),
		orderSetPercentage:                     toServer(orderSetPercentage, 2, 2),
		orderPercentage:                        toServer(orderPercentage, 1, 1),
		orderSetPin:                            toServer(orderSetPin, 3, 3),
		orderPin:                               toServer(orderPin, 2, 2),
		orderTerminate:                         toServer(orderTerminate, 2, 2),
		orderDevices:                           toServer(orderDevices, 0, 1),
		orderPS:                                toServer(orderPS, 0, 1),
		orderFault:                             toServer(orderFault, 0, 1),
	}
}

// obey runs a command under the faults of its call.
func (d *daemon) obey(words []string) reply {
	if len(words) == 0 {
		return reply{}
	}
	d.log.printf("Cmd:%s", strings.Join(words, " "))
	c, known := commands()[words[0]]
	args := words[1:]
	switch {
	case !known:
		return reply{Error: fmt.Sprintf("Unknown command %q", words[0])}
	case len(args) < c.least || len(args) > c.most:
		return reply{Error: fmt.Sprintf("Invalid number of arguments for %s: %q", words[0], args)}
	}
	if err := d.m.Log(sim.Logged{Call: sim.MPSCommand + words[0], Args: args}); err != nil {
		return failed(err)
	}
	var a reply
	code := around(d.m, sim.MPSCommand+words[0], nil, func() sim.Code {
		text, err := c.run(d, args)
		if a = (reply{Text: text}); err != nil {
			a = failed(err)
		}
		return sim.Success
	})
	if code != sim.Success {
		return reply{Error: fmt.Sprintf("%s: %s", words[0], code.Words())}
	}
	return a
}

// toServer is a command that a server answers: the one whose PID is the first
// argument, or where that may be missing the one there is.
func toServer(name string, least, most int) command {
	return command{least, most, func(d *daemon, args []string) (string, error) { return d.forward(name, args) }}
}

func (d *daemon) serverList([]string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server == nil {
		return "", nil
	}
	return strconv.Itoa(d.server.pid()), nil
}

// startServer is start_server -uid N. It returns when the server was started;
// get_server_status tells when it is ready.
func (d *daemon) startServer(args []string) (string, error) {
	uid, err := strconv.Atoi(args[1])
	if args[0] != "-uid" || err != nil || uid < 0 {
		return "", fmt.Errorf("start_server %s: want start_server -uid N", strings.Join(args, " "))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.MultiUser {
		uid = os.Geteuid()
	}
	switch {
	case d.quitting:
		return "", errQuitting
	case os.Geteuid() != 0 && uid != os.Geteuid():
		return "", fmt.Errorf("start_server -uid %d: a daemon of user %d starts servers for that user alone", uid, os.Geteuid())
	case d.server == nil:
		return "", d.start(uid)
	case d.server.uid != uid:
		return "", fmt.Errorf("server %d of user %d is running: wait until it has ended", d.server.pid(), d.server.uid)
	}
	return "", nil
}

// forward gives a command to a server.
func (d *daemon) forward(name string, args []string) (string, error) {
	d.mu.Lock()
	srv := d.server
	d.mu.Unlock()
	named := len(args) > 0
	switch {
	case srv == nil && named:
		return "", fmt.Errorf("Server %s not found", args[0])
	case srv == nil:
		return "", nil // of all servers, that is of none
	case named && args[0] != strconv.Itoa(srv.pid()):
		return "", fmt.Errorf("Server %s not found", args[0])
	case named:
		args = args[1:]
	}
	return srv.ask(slices.Concat([]string{name}, args))
}

// quitCommand is quit [-t SECONDS]. It returns when the daemon has quit.
func (d *daemon) quitCommand(args []string) (string, error) {
	after := time.Duration(-1)
	if len(args) > 0 {
		n, err := strconv.Atoi(args[len(args)-1])
		if len(args) != 2 || args[0] != "-t" || err != nil || n < 0 {
			return "", fmt.Errorf("quit %s: want quit -t SECONDS", strings.Join(args, " "))
		}
		after = time.Duration(n) * time.Second
	}
	d.quit(after)
	return "", nil
}
