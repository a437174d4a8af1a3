// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The orders to a server: commands that are about one, by their names, and to end.
const (
	orderStatus        = "get_server_status"
	orderClients       = "get_client_list"
	orderDevices       = "get_device_client_list"
	orderPS            = "ps"
	orderPercentage    = "get_active_thread_percentage"
	orderSetPercentage = "set_active_thread_percentage"
	orderPin           = "get_device_pinned_mem_limit"
	orderSetPin        = "set_device_pinned_mem_limit"
	orderTerminate     = "terminate_client"
	orderFault         = "fatal-fault"
	orderEnd           = "end"
)

// obey answers the daemon until it ends.
func (s *server) obey() {
	for {
		var words []string
		if s.link.receive(&words) != nil {
			s.orphaned()
			return
		}
		text, err := s.order(words)
		r := reply{Text: text}
		if err != nil {
			r = failed(err)
		}
		s.tell(&r)
	}
}

func (s *server) order(words []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	args := words[1:]
	switch words[0] {
	case orderStatus:
		return s.state, nil
	case orderClients:
		return s.eachClient(func(c *session) string { return strconv.Itoa(c.pid) }), nil
	case orderDevices:
		return s.deviceClients(), nil
	case orderPS:
		return s.ps(), nil
	case orderPercentage:
		return s.Settings.percentage(), nil
	case orderSetPercentage:
		return s.Settings.setPercentage(args[0])
	case orderPin:
		return s.Settings.pinText(args[0]), nil
	case orderSetPin:
		return s.Settings.setPin(args[0], args[1])
	case orderTerminate:
		return "", s.terminateCommand(args[0])
	case orderFault:
		s.fault("a test")
		return "", nil
	case orderEnd:
		if len(s.clients) > 0 {
			return "", errors.New("the server has clients")
		}
		s.finish()
		return "", nil
	}
	return "", fmt.Errorf("the server knows no order %q", words[0])
}

func (s *server) eachClient(f func(*session) string) string {
	var lines []string
	for _, c := range s.clients {
		lines = append(lines, f(c))
	}
	return strings.Join(lines, "\n")
}

// deviceClients lists each device with the PIDs of its clients.
func (s *server) deviceClients() string {
	var lines []string
	for _, uuid := range s.Devices {
		line := uuid + ":"
		for _, c := range s.clients {
			if slices.ContainsFunc(c.devices, func(g Grant) bool { return g.UUID == uuid }) {
				line += " " + strconv.Itoa(c.pid)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// ps lists the clients, each with its first device.
func (s *server) ps() string {
	head := fmt.Sprintf("%-9s %-5s %-9s %-40s %s", "PID", "ID", "SERVER", "DEVICE", "COMMAND")
	rows := s.eachClient(func(c *session) string {
		return fmt.Sprintf("%-9d %-5d %-9d %-40s %s", c.pid, slices.Index(s.clients, c), os.Getpid(), c.devices[0].UUID, c.name)
	})
	return strings.TrimSuffix(head+"\n"+rows, "\n")
}

func (s *server) terminateCommand(pid string) error {
	for _, c := range s.clients {
		if strconv.Itoa(c.pid) == pid {
			s.terminate(c)
			return nil
		}
	}
	return saying("Client " + pid + " not found")
}
