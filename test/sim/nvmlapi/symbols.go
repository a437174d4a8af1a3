// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

//go:embed zz_symbols.txt
var symbolList string

// symbols are the functions of the library that go-nvml was generated from.
var symbols = strings.Fields(symbolList)

// Extensions looks symbols up, as dlsym would in the library of the machine's driver.
func (l *library) Extensions() nvml.ExtendedInterface { return extensions{l} }

type extensions struct{ lib *library }

func (e extensions) LookupSymbol(name string) error {
	e.lib.mu.Lock()
	loaded := e.lib.refs > 0
	e.lib.mu.Unlock()
	if !loaded {
		return fmt.Errorf("error looking up %s: library not loaded: call Init first", name)
	}
	return e.lib.lookup(name)
}

func (l *library) lookup(name string) error {
	if _, known := slices.BinarySearch(symbols, name); !known {
		return fmt.Errorf("undefined symbol: %s", name)
	}
	s, err := l.m.State()
	if err != nil {
		return err
	}
	if !s.HasSymbol(name) {
		return fmt.Errorf("undefined symbol: %s (driver %s is older)", name, s.Driver)
	}
	return nil
}

// mustHave panics where the dynamic linker would end the process: at the call
// of a function that the driver's library does not have.
func mustHave(l *library, s *sim.State, name string) {
	if l.linked || s.HasSymbol(name) {
		return
	}
	panic("symbol lookup error: libnvidia-ml.so.1: undefined symbol: " + name)
}
