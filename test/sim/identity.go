// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// gpuUUID names a GPU by (seed, ordinal): the same machine made again has the
// same GPUs, as a board keeps its UUID.
func gpuUUID(seed int64, ordinal int) string {
	return "GPU-" + named(seed, "gpu/"+strconv.Itoa(ordinal))
}

// bootID names a boot in the form of /proc/sys/kernel/random/boot_id.
func bootID(seed int64, boot int) string {
	return named(seed, "boot/"+strconv.Itoa(boot))
}

func named(seed int64, what string) string {
	name := fmt.Sprintf("cotenant-sim/%d/%s", seed, what)
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()
}

// defaultPCI spreads the GPUs over buses of their own: 0000:65:01.0 as in the
// walkthrough, then 0000:75:01.0 …, eight to a PCI domain.
func defaultPCI(ordinal int) string {
	return fmt.Sprintf("%04x:%02x:01.0", ordinal/8, 0x65+0x10*(ordinal%8))
}

// defaultPCIeRoot is the bus one below that of the GPU: pci0000:64 for 0000:65:01.0.
func defaultPCIeRoot(pci string) string {
	bus, err := strconv.ParseUint(pci[5:7], 16, 8)
	if err != nil || bus == 0 {
		return "pci" + pci[:4] + ":00"
	}
	return fmt.Sprintf("pci%s:%02x", pci[:4], bus-1)
}
