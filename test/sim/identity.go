// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"math/rand/v2"
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

// heapID is where an instance stands in the driver's heap of partitions: the
// whole GPU is 0, the halves are 1 and 2, the quarters 3 to 6, the eighths from
// 7 on (seen on A100, A30 and RTX PRO 6000; the two instances of three slices
// were seen in either order). So an id comes back as soon as its place is free.
func heapID(whole Profile, gi GPUInstance) int {
	parts := whole.MemoryUnits / gi.Size
	return parts - 1 + gi.Start/gi.Size
}

// maxGIs and maxCIs bound the ids of instances: the driver numbers the device
// nodes of 15 GPU instances with 8 compute instances each.
const (
	maxGIs = 15
	maxCIs = 8
)

// freeGI is the id of a GPU instance to be made on g.
func (s *State) freeGI(g *GPU, p Product, gi GPUInstance) int {
	if s.Options.IDs != IDsRandom {
		return heapID(p.Whole(), gi)
	}
	return s.randomID(gi.Seq, maxGIs, func(id int) bool { return g.GI(id) == nil })
}

// freeCI is the id of a compute instance to be made in gi: the lowest free one.
func (s *State) freeCI(gi *GPUInstance, seq uint64) int {
	free := func(id int) bool { return gi.CI(id) == nil }
	if s.Options.IDs == IDsRandom {
		return s.randomID(seq, maxCIs, free)
	}
	id := 0
	for !free(id) {
		id++
	}
	return id
}

// randomID is a free id that follows from nothing but when it is given.
func (s *State) randomID(seq uint64, below int, free func(int) bool) int {
	r := rand.New(rand.NewPCG(uint64(s.Seed), seq))
	for {
		if id := r.IntN(below); free(id) {
			return id
		}
	}
}

// freeIndex is the lowest index that no MIG device of g has.
func (g *GPU) freeIndex() int {
	index := 0
	for {
		if gi, _ := g.MIGDevice(index); gi == nil {
			return index
		}
		index++
	}
}

// migUUID names a MIG device by (GPU, GPU instance, compute instance), so that
// the same partition made again has the same UUID. That drivers do so follows
// from the version nibble of the UUIDs they show; it is not confirmed. Drivers
// before R470 spell the three out (NVIDIA MIG user guide, "CUDA Device Enumeration").
func (s *State) migUUID(g *GPU, gi int, ci ComputeInstance) string {
	if branch(s.Driver) < 470 {
		return fmt.Sprintf("MIG-%s/%d/%d", g.UUID, gi, ci.ID)
	}
	name := fmt.Sprintf("%s/%d/%d", g.UUID, gi, ci.ID)
	if s.Options.UUIDs == UUIDsFresh {
		name += fmt.Sprintf("/%d", ci.Seq)
	}
	return "MIG-" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()
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
