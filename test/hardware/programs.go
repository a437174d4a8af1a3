// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/plugin/timeslice"
	"github.com/cotenant-dev/cotenant/test/sim"
)

const (
	smi        = "nvidia-smi"
	mpsControl = "nvidia-cuda-mps-control"
	// turns is the one question that nvidia-smi answers and the library does not.
	turns = "time-slice interval"
)

// within bounds a program that a sick GPU holds up.
const within = 30 * time.Second

// find returns where a program of the driver is, or "".
func find(root, name string) string {
	for _, dir := range [...]string{"usr/bin", "bin", "usr/local/bin", "opt/bin"} {
		path := filepath.Join(root, dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// programs are notes about those of the driver that the product needs.
func programs(root string) []string {
	if root == "" {
		return nil
	}
	path := find(root, mpsControl)
	if path == "" {
		return []string{fmt.Sprintf("there is no %s below %s: MPS is not to be had here", mpsControl, root)}
	}
	return []string{mpsControl + " is " + path}
}

// policies asks nvidia-smi for the time-slice interval, which changes nothing, and
// looks whether the product is able to read the answer.
func (g *gpu) policies(o Options, scratch string) {
	if o.DriverRoot == "" {
		return
	}
	program := find(o.DriverRoot, smi)
	if program == "" {
		g.leave("there is no %s below %s to tell the %s", smi, o.DriverRoot, turns)
		return
	}
	uuid, _ := g.dev.GetUUID()
	said, err := list(program, uuid, o.Library)
	unsupported := strings.Contains(strings.ToLower(said), "not supported")
	if err != nil && !unsupported {
		g.leave("%s: %v: %s", turns, err, said)
		return
	}
	if err != nil {
		g.note(turns, none)
		return
	}
	is, err := readAs(filepath.Join(scratch, "as-it-is"), said)
	switch {
	case api.ReasonOf(err) == api.Unsupported:
		g.note(turns, none)
	case err != nil:
		g.leave("%s: %v", turns, err)
	case !readable(scratch, said):
		g.leave("the product cannot read the %s in what %s says, and takes it for %s: %q", turns, smi, is, said)
	default:
		g.note(turns, succeeded)
	}
}

// none is the answer where a GPU has no interval.
const none = "none"

// list returns what nvidia-smi says about the policies of a GPU.
func list(program, uuid, library string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "compute-policy", "-i", uuid, "-l")
	cmd.WaitDelay = time.Second
	if library != "" {
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+library)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// levels are the words for an interval.
var levels = regexp.MustCompile(`(?i)\b(default|short|medium|long)\b`)

// readable says whether the product finds the interval in these words: if they told
// another one, it would read that. What it cannot read it takes for the default.
func readable(scratch, said string) bool {
	for _, other := range []nvidia.Interval{nvidia.Short, nvidia.Long} {
		is, err := readAs(filepath.Join(scratch, "as-"+string(other)), levels.ReplaceAllString(said, string(other)))
		if err != nil || is != other {
			return false
		}
	}
	return true
}

// readAs has the product read the words, from an nvidia-smi that says no others. root
// is made its driver root.
func readAs(root, said string) (nvidia.Interval, error) {
	bin := filepath.Join(root, "usr", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	words := filepath.Join(root, "said")
	if err := os.WriteFile(words, []byte(said), 0o644); err != nil {
		return "", err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec cat '%s'\n", words)
	if err := os.WriteFile(filepath.Join(bin, smi), []byte(script), 0o755); err != nil {
		return "", err
	}
	return timeslice.New(root, func() string { return "" }).Interval(context.Background(), "GPU-0")
}

// turnsOf is what nvidia-smi would say of the simulated product.
func turnsOf(product string, mig bool) (string, error) {
	p, err := sim.LookupProduct(product)
	if err != nil {
		return "", err
	}
	if p.TimeSlice && !mig {
		return succeeded, nil
	}
	return none, nil
}
