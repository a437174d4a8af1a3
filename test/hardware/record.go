// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// pciClass of a GPU without display (PCI code and id assignment specification,
// class 03, subclass 02).
const pciClass = 0x030200

// record writes what was learnt of a model as a file for test/sim/products and
// returns its path.
func record(g *gpu, d driver, dir string) (string, error) {
	seen := "nvml of driver " + d.version + " on this part, by make hardware"
	guess := "NVML does not tell: "
	p := g.product
	p.PCIClass = pciClass
	p.SMs = p.Whole().SMs
	p.TimeSlice = p.ComputeMajor >= 7
	p.Sources = map[string]string{
		"profiles": seen, "memoryMiB": seen, "reservedMiB": seen, "pciDeviceID": seen, "computeMajor": seen, "name": seen, "addressing": seen,
		"pciSubsystem": seen, "sxm": seen + ", by the module id",
		"sms":           guess + "those of the largest MIG profile; look the part up, it may have more with MIG off",
		"pciClass":      guess + "3D controller; see /sys/bus/pci/devices/ADDRESS/class",
		"timeSlice":     guess + "by the architecture, Volta and later",
		"migNeedsReset": guess + "by the architecture, Ampere",
	}
	if g.on {
		p.RowRemap = p.ECC
		p.Sources["rowRemap"] = "Not told with MIG on: taken from the ECC counters"
	}
	for i := range p.Profiles {
		p.Profiles[i].Source = seen
	}
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fileName(p))
	return path, os.WriteFile(path, append(raw, '\n'), 0o644)
}

// fileName is the model and its memory, as in H100-80.json: "NVIDIA H200 NVL" of
// 143771 MiB is H200-NVL-141.json.
func fileName(p sim.Product) string {
	name := strings.TrimPrefix(strings.TrimPrefix(p.Name, "NVIDIA "), "Tesla ")
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
	return fmt.Sprintf("%s-%d.json", name, (p.MemoryMiB+1023)/1024)
}
