// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

// The product names in its errors what it calls.
func TestEveryFunctionThatTheProductNamesIsLookedUp(t *testing.T) {
	files, err := filepath.Glob("../../plugin/nvml/*.go")
	if err != nil {
		t.Fatal(err)
	}
	called := regexp.MustCompile(`nvml[A-Z]\w+`)
	version := regexp.MustCompile(`_v\d+$`)
	found := 0
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range called.FindAllString(string(raw), -1) {
			found++
			if !slices.ContainsFunc(used, func(u string) bool { return version.ReplaceAllString(u, "") == version.ReplaceAllString(name, "") }) {
				t.Errorf("%s names %s, which is not looked up", f, name)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d functions are named in %v", found, files)
	}
}

func TestEveryFunctionIsOneOfTheLibrary(t *testing.T) {
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), sim.Config{Driver: "615.10"})
	if err != nil {
		t.Fatal(err)
	}
	lib := readonly.New(nvmlapi.New(m))
	if ret := lib.Init(); ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	for _, name := range used {
		if err := lib.LookupSymbol(name); err != nil {
			t.Error(err)
		}
	}
	if !slices.IsSorted(used) || len(slices.Compact(slices.Clone(used))) != len(used) {
		t.Errorf("not sorted, or twice: %s", strings.Join(used, " "))
	}
}
