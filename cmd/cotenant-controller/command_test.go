// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A command line that can never work is told apart, and says what to do.
func TestUsage(t *testing.T) {
	env := func(vars map[string]string) func(string) string { return func(k string) string { return vars[k] } }
	cases := map[string]struct {
		args  []string
		env   map[string]string
		usage bool
		want  string
	}{
		"no namespace":                  {nil, nil, true, "--namespace (or NAMESPACE) is required"},
		"no namespace name":             {[]string{"--namespace=a_b"}, nil, true, `"a_b" is not the name of a namespace`},
		"unknown flag":                  {[]string{"--nonsense"}, nil, true, "unknown flag: --nonsense; see --help"},
		"argument":                      {[]string{"serve"}, nil, true, `unknown argument "serve"`},
		"no number":                     {[]string{"-v=much"}, nil, true, "see --help"},
		"no kubeconfig":                 {[]string{"--namespace=a", "--kubeconfig=/nonexistent"}, nil, false, "read the kubeconfig"},
		"kubeconfig of the environment": {nil, map[string]string{"NAMESPACE": "a", "KUBECONFIG": "/nonexistent"}, false, "/nonexistent"},
		"outside a cluster":             {nil, map[string]string{"NAMESPACE": "a"}, false, "not in a cluster, and no --kubeconfig given"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			cmd := newCommand(env(c.env))
			cmd.SetArgs(c.args)
			cmd.SetOut(io.Discard)
			err := cmd.ExecuteContext(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			var usage usageError
			if errors.As(err, &usage) != c.usage {
				t.Errorf("is it about usage? %v, want %v: %v", !c.usage, c.usage, err)
			}
			if got := oneLine(err); !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
				t.Errorf("got %q, want one line with %q", got, c.want)
			}
		})
	}
}
