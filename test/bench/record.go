// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// lastLine is how `journal show` ends.
var lastLine = regexp.MustCompile(`(?m)^(\d+) claims, \d+ fences, (\d+) disagreements$`)

// recordedIn returns how many claims `journal show` found. A journal that
// disagrees with itself is an error.
func recordedIn(shown string) (int, error) {
	m := lastLine.FindStringSubmatch(shown)
	if m == nil {
		return 0, fmt.Errorf("`journal show` did not print how many claims there are:\n%s", shown)
	}
	if m[2] != "0" {
		return 0, fmt.Errorf("the journal has %s disagreements; see `journal show`", m[2])
	}
	return strconv.Atoi(m[1])
}

// expect proves that the node holds that many claims, by its journal and by its
// CDI specs: no figure counts for a level that was not there.
func (n *node) expect(ctx context.Context, claims int) error {
	shown, err := exec.CommandContext(ctx, n.plugin, "journal", "show", "--file", n.journal()).Output()
	if err != nil {
		return fmt.Errorf("node %s: show the journal: %w", n.name, err)
	}
	recorded, err := recordedIn(string(shown))
	if err != nil {
		return fmt.Errorf("node %s: %w", n.name, err)
	}
	specs, err := filepath.Glob(n.spec("*"))
	if err != nil {
		return err
	}
	if recorded != claims || len(specs) != claims {
		return fmt.Errorf("node %s: its journal holds %d claims and its CDI directory %d specs, want %d of each", n.name, recorded, len(specs), claims)
	}
	return nil
}
