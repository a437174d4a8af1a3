// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// since is the first driver branch whose library has a function, for those
// that consumers look up before use. Functions not listed are taken to be in
// every driver from 450 on, the first with MIG. 615 is from the change log of
// NVIDIA's NVML API reference; the others are the branches whose headers first
// declared them as far as known, not confirmed on libraries of that age.
var since = map[string]int{
	"nvmlDeviceGetMemoryInfo_v2":                 510,
	"nvmlDeviceGetComputeRunningProcesses_v3":    510,
	"nvmlDeviceGetGraphicsRunningProcesses_v3":   510,
	"nvmlDeviceGetMPSComputeRunningProcesses_v3": 510,
	"nvmlDeviceGetGpuInstanceProfileInfoV":       515,
	"nvmlDeviceGetGpuFabricInfo":                 525,
	"nvmlDeviceGetGpuFabricInfoV":                550,
	"nvmlDeviceGetCapabilities":                  570,
	"nvmlDeviceGetAddressingMode":                580,
	"nvmlDeviceGetMemoryLimits_v1":               615,
	"nvmlDeviceSetMemoryLimits_v1":               615,
	"nvmlDeviceGetRemappedRows_v2":               615,
	"nvmlEventSetWait_v3":                        615,
}

// HasSymbol reports whether the library of the machine's driver has a function
// that some library has.
func (s *State) HasSymbol(name string) bool { return since[name] <= branch(s.Driver) }

// branch is the first number of a driver version that Create accepted.
func branch(driver string) int {
	head, _, _ := strings.Cut(driver, ".")
	n, _ := strconv.Atoi(head) // three digits, by driverForm
	return n
}

// hideSymbols makes the dynamic linker not find the functions of an ELF shared
// library that are newer than driver. A program that looks such a function up
// is told, and one that calls it dies, as with the real library.
//
// Each becomes an undefined weak symbol without a value in the table of
// dynamic symbols (System V ABI, "Symbol Table"): the name stays, so the hash
// tables stay right, and the linker passes over it.
func hideSymbols(lib []byte, driver string) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(lib))
	if err != nil {
		return nil, fmt.Errorf("%s is not a shared library: %w", binLib, err)
	}
	names, table := f.Section(".dynstr"), f.Section(".dynsym")
	if names == nil || table == nil || f.Class != elf.ELFCLASS64 {
		return nil, fmt.Errorf("%s has no 64-bit table of dynamic symbols: build it with -buildmode=c-shared", binLib)
	}
	out := bytes.Clone(lib)
	strs := out[names.Offset : names.Offset+names.Size]
	left := map[string]bool{}
	for name, first := range since {
		left[name] = first > branch(driver)
	}
	for at := table.Offset; at+elf.Sym64Size <= table.Offset+table.Size; at += elf.Sym64Size {
		sym := out[at : at+elf.Sym64Size]
		name, _, _ := bytes.Cut(strs[f.ByteOrder.Uint32(sym):], []byte{0})
		if !left[string(name)] {
			continue
		}
		delete(left, string(name))
		sym[4] = byte(elf.STB_WEAK)<<4 | sym[4]&0xf           // st_info
		f.ByteOrder.PutUint16(sym[6:], uint16(elf.SHN_UNDEF)) // st_shndx
		clear(sym[8:16])                                      // st_value
	}
	for name, missing := range left {
		if missing {
			return nil, fmt.Errorf("%s has no function %s: build it from this source", binLib, name)
		}
	}
	return out, nil
}

// readBin reads a stand-in program as the driver version would ship it.
func readBin(path, name, driver string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil || name != binLib {
		return b, err
	}
	return hideSymbols(b, driver)
}
