// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"slices"
)

// Names says which device name belongs to which hardware, by PCI address. It is
// kept in the journal for good: minors and indexes move when a GPU is drained or
// the node reboots, and a claim must never reach another GPU by its name.
type Names map[string]string

// Assign returns the name of every GPU, by address. A known address keeps its
// name. A new one is called "gpu-<minor>", as upstream would, or, where that
// name belongs to other hardware, by the next free number.
func (n Names) Assign(gpus []GPU) Names {
	taken := map[string]bool{}
	for _, name := range n {
		taken[name] = true
	}
	out := Names{}
	sorted := slices.Clone(gpus)
	slices.SortFunc(sorted, byAddress)
	for _, g := range sorted {
		name, known := n[g.Address]
		if !known {
			name = freeName(taken, g.Minor)
			taken[name] = true
		}
		out[g.Address] = name
	}
	return out
}

func freeName(taken map[string]bool, minor int) string {
	for i := minor; ; i++ {
		if name := fmt.Sprintf("gpu-%d", i); !taken[name] {
			return name
		}
	}
}

func byAddress(a, b GPU) int {
	switch {
	case a.Address < b.Address:
		return -1
	case a.Address > b.Address:
		return 1
	}
	return 0
}
