// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

// The command line refuses what it cannot do, and says what it can.
func TestRefusals(t *testing.T) {
	out := t.TempDir()
	for line, want := range map[string]string{
		"up --name a --node A":                      "no node name",
		"up --name a --control-plane-only --node b": "no nodes",
		"up --name A --control-plane-only":          "cluster name",
		"up --name a --control-plane-only":          "cluster build --version",
		"up --name a --version latest":              "1.37.2",
		"node reboot --name a":                      "accepts 2 arg",
		"node reboot --name a b":                    `no cluster "a"`,
		"exec --name a -- true":                     `no cluster "a"`,
		"exec --name a":                             "requires at least 1 arg",
		"kubeconfig --name a":                       `no cluster "a"`,
		"load-image --name a x.tar":                 `no cluster "a"`,
		"down --name a --all":                       "none of the others can be",
		"build --version 1":                         "1.37.2",
		"nonsense":                                  "unknown command",
	} {
		t.Run(line, func(t *testing.T) {
			cmd := newRootCommand()
			cmd.SetArgs(append([]string{"--out", out}, strings.Fields(line)...))
			cmd.SetOut(new(bytes.Buffer))
			cmd.SetErr(new(bytes.Buffer))
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
}

func TestDownOfNothing(t *testing.T) {
	for _, line := range []string{"down --name a", "down --all"} {
		cmd := newRootCommand()
		cmd.SetArgs(append([]string{"--out", t.TempDir()}, strings.Fields(line)...))
		cmd.SetErr(new(bytes.Buffer))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
