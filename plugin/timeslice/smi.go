// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package timeslice

import (
	"bytes"
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
)

// within bounds one run of nvidia-smi: a sick GPU may hold it up for good.
const within = 20 * time.Second

// maxSaid is how much of what it said is shown to people.
const maxSaid = 300

// programs and libraries are where drivers put nvidia-smi and its library, below
// their root.
var (
	programs  = [...]string{"usr/bin", "bin", "usr/local/bin", "opt/bin"}
	libraries = [...]string{
		"usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
		"lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
	}
)

// run runs nvidia-smi of the driver and returns what it says.
func (v *Intervals) run(ctx context.Context, args ...string) (string, error) {
	program, err := find(v.root, programs[:], "nvidia-smi")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	// Only this library is the driver's; the others are those of our own image. A
	// program that misses it says so itself.
	if library, err := find(v.root, libraries[:], "libnvidia-ml.so.1"); err == nil {
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+library)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	said := out.String()
	switch {
	case err == nil:
		return said, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("nvidia-smi %s did not end within %s", strings.Join(args, " "), within)
	case strings.Contains(strings.ToLower(said), "not supported"):
		return "", api.Errorf(api.Unsupported, "nvidia-smi %s says: %s", strings.Join(args, " "), brief(said))
	}
	return "", fmt.Errorf("nvidia-smi %s: %w: %s", strings.Join(args, " "), err, brief(said))
}

func find(root string, dirs []string, name string) (string, error) {
	for _, dir := range dirs {
		path := filepath.Join(root, dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s below %s; check that the driver is installed there", name, root)
}

// brief is what was said, on one line and not too long.
func brief(said string) string {
	line := strings.Join(strings.Fields(said), " ")
	if len(line) > maxSaid {
		line = strings.ToValidUTF8(line[:maxSaid], "") + "…"
	}
	return line
}

// policy is the line about the interval in the list of a GPU's compute policies: its
// name and, behind anything but letters, one of four words, or that there is none.
var policy = regexp.MustCompile(`(?im)time-?\s?slice[^a-z\n]+(default|short|medium|long|n/a|not supported)\b`)

// interval reads the answer of compute-policy -l. One that says nothing of an
// interval is that of a driver whose words we do not know: it is taken for the
// default, which is what an interval is then restored to.
func interval(said string) (nvidia.Interval, error) {
	m := policy.FindStringSubmatch(said)
	if m == nil {
		return nvidia.Default, nil
	}
	for _, i := range [...]nvidia.Interval{nvidia.Default, nvidia.Short, nvidia.Medium, nvidia.Long} {
		if strings.EqualFold(m[1], string(i)) {
			return i, nil
		}
	}
	return "", api.Errorf(api.Unsupported, "not supported by this GPU or its driver (nvidia-smi compute-policy -l says %s)", m[1])
}
