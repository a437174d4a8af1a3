// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
)

// ErrNoProcess is the answer to a command where no daemon runs.
const ErrNoProcess = saying("Cannot find MPS control daemon process")

// Send gives the commands in r, one a line, to the daemon at a pipe directory, and
// writes its answers to out. The error joins those of all commands.
func Send(pipeDirectory string, r io.Reader, out io.Writer) error {
	c, err := net.Dial("unix", filepath.Join(pipeDirectory, controlSocket))
	if err != nil {
		return ErrNoProcess
	}
	w := newWire(c)
	defer w.Close()
	var errs []error
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		text, err := command1(w, words)
		if text != "" {
			fmt.Fprintln(out, text)
		}
		if errs = append(errs, err); errors.Is(err, ErrNoProcess) {
			break
		}
	}
	return errors.Join(append(errs, lines.Err())...)
}

func command1(w *wire, words []string) (string, error) {
	var a reply
	if err := errors.Join(w.send(request{Command: words}), w.receive(&a)); err != nil {
		return "", ErrNoProcess
	}
	return a.Text, a.err()
}
