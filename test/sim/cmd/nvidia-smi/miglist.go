// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// table is a box of lines as the tool draws it; widths are those of driver 580.
type table struct {
	out   io.Writer
	width int
}

func (t table) rule(c string) { fmt.Fprintf(t.out, "+%s+\n", strings.Repeat(c, t.width)) }

func (t table) head(lines ...string) {
	t.rule("-")
	for _, line := range lines {
		t.line(line)
	}
	fmt.Fprintf(t.out, "|%s|\n", strings.Repeat("=", t.width))
}

func (t table) line(text string) { fmt.Fprintf(t.out, "|%-*s|\n", t.width, text) }

// listProfiles is -lgip.
func listProfiles(gpus []gpu, out io.Writer) error {
	t := table{out, 79}
	t.head(" GPU instance profiles:",
		" GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC",
		"                                Free/Total   GiB              CE    JPEG  OFA")
	for _, g := range gpus {
		for _, pr := range g.product.Profiles {
			free := pr.Max
			if g.MIG.Current {
				free = g.product.Remaining(g.GIs, pr)
			}
			t.line(fmt.Sprintf("%4d  MIG %-15s %2d     %d/%-8d %-10.2f %-7s%-7d%-6d%d", g.index, pr.Name, pr.ID, free, pr.Max,
				float64(pr.MemoryMiB)/1024, "No", pr.SMs, pr.Decoders, pr.Encoders))
			t.line(fmt.Sprintf("%63s%-6d%-6d%d", "", pr.CopyEngines, pr.JPEG, pr.OFA))
			t.rule("-")
		}
	}
	return nil
}

// listPlacements is -lgipp.
func listPlacements(gpus []gpu, out io.Writer) error {
	for _, g := range gpus {
		for _, pr := range g.product.Profiles {
			var starts []string
			for _, start := range pr.Starts {
				starts = append(starts, strconv.Itoa(start))
			}
			word := "Placements"
			if len(starts) == 1 {
				word = "Placement "
			}
			fmt.Fprintf(out, "GPU %2d Profile ID %2d %s: {%s}:%d\n", g.index, pr.ID, word, strings.Join(starts, ","), pr.MemoryUnits)
		}
	}
	return nil
}

// listGIs is -lgi.
func (a migArgs) listGIs(gpus []gpu, out io.Writer) error {
	return rows(gpus, out, "GPU", table{out, 57}, []string{" GPU instances:",
		" GPU   Name               Profile  Instance   Placement",
		"                            ID       ID       Start:Size",
	}, func(g gpu, gi sim.GPUInstance) (lines []string) {
		pr, _ := g.product.ProfileByID(gi.ProfileID)
		return []string{fmt.Sprintf("%4d  MIG %-17s%3d      %3d  %9d:%-5d", g.index, pr.Name, pr.ID, gi.ID, gi.Start, gi.Size)}
	})
}

// listCIs is -lci.
func (a migArgs) listCIs(gpus []gpu, out io.Writer) error {
	return rows(gpus, out, "compute", table{out, 68}, []string{" Compute instances:",
		" GPU     GPU       Name             Profile   Instance   Placement",
		"       Instance                       ID        ID       Start:Size",
		"         ID",
	}, func(g gpu, gi sim.GPUInstance) (lines []string) {
		if !has(a.gis, gi.ID) {
			return nil
		}
		pr, _ := g.product.ProfileByID(gi.ProfileID)
		for _, ci := range gi.CIs {
			c, _ := g.product.ComputeProfile(pr, ci.ProfileID)
			lines = append(lines, fmt.Sprintf("%4d     %2d       MIG %-14s %3d       %3d  %9d:%-5d", g.index, gi.ID, pr.MIGName(c), ci.ProfileID, ci.ID, ci.Start, ci.Size))
		}
		return lines
	})
}

// inOrder are GPU instances by profile, the smallest first, and id.
func inOrder(gis []sim.GPUInstance) []sim.GPUInstance {
	return slices.SortedFunc(slices.Values(gis), func(a, b sim.GPUInstance) int {
		return cmp.Or(cmp.Compare(b.ProfileID, a.ProfileID), cmp.Compare(a.ID, b.ID))
	})
}

// none is how the tool fails where there are no instances of a kind, "GPU" or
// "compute".
func none(kind string) error {
	return failure{exitNotFound, fmt.Sprintf("No %s instances found: Not Found", kind)}
}

// rows draws a table with the lines that there are of each GPU instance.
func rows(gpus []gpu, out io.Writer, kind string, t table, head []string, of func(gpu, sim.GPUInstance) []string) error {
	var all []string
	for _, g := range gpus {
		for _, gi := range inOrder(g.GIs) {
			all = append(all, of(g, gi)...)
		}
	}
	if len(all) == 0 {
		return none(kind)
	}
	t.head(head...)
	for _, line := range all {
		t.line(line)
		t.rule("-")
	}
	return nil
}
