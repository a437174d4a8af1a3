// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
)

// list prints -L.
func list(gpus []gpu, out io.Writer) error {
	for _, g := range gpus {
		if g.Lost {
			return g.lost()
		}
		fmt.Fprintf(out, "GPU %d: %s (UUID: %s)\n", g.index, g.product.Name, g.UUID)
		for i, m := range g.migs {
			fmt.Fprintf(out, "  MIG %-11s Device %2d: (UUID: %s)\n", m.name, i, m.uuid)
		}
	}
	return nil
}
