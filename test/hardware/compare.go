// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// ErrNoGPU is in the error when there is nothing to compare with.
var ErrNoGPU = errors.New("there is no GPU to compare the simulator with")

// Options say where things go.
type Options struct {
	// Scratch is an empty directory for simulated machines.
	Scratch string
	// Out is where products that the simulator does not have are written.
	Out string
	// Known are the simulator's products, by name; sim.Products unless in a test.
	Known []string
	// UID is the user who asks.
	UID int
	// DriverRoot is below where the driver's programs are; where it is "" they are not
	// looked at. Library is what nvidia-smi is made to load, "" for what the loader finds.
	DriverRoot, Library string
}

// Report is what was found.
type Report struct {
	Driver string
	// Notes are what was seen and has nothing to be compared with.
	Notes []string
	GPUs  []Compared
}

// Compared is one GPU.
type Compared struct {
	Index     int
	Name      string
	Product   string // of test/sim/products; "" when there is none
	Questions int
	// Differences are what hardware and simulator say otherwise, Open what could
	// not be asked or compared: a line each.
	Differences, Open []string
	// Recorded is the file that a product which is not known was written to.
	Recorded string
}

// Compare asks every GPU. Differences are no error.
func Compare(lib readonly.Library, o Options) (Report, error) {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return Report{}, fmt.Errorf("%w: nvmlInit says %v; NVML_LIBRARY names the library if it is not where the loader looks", ErrNoGPU, ret)
	}
	defer lib.Shutdown()
	n, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS || n == 0 {
		return Report{}, fmt.Errorf("%w: nvmlDeviceGetCount says %d (%v)", ErrNoGPU, n, ret)
	}
	d, err := driverOf(lib)
	if err != nil {
		return Report{}, err
	}
	r := Report{Driver: d.version, Notes: programs(o.DriverRoot)}
	for i := range n {
		c, err := compare(lib, i, d, o)
		if err != nil {
			return Report{}, fmt.Errorf("GPU %d: %w", i, err)
		}
		r.GPUs = append(r.GPUs, c)
	}
	return r, nil
}

func compare(lib readonly.Library, index int, d driver, o Options) (Compared, error) {
	c := Compared{Index: index}
	g, err := look(lib, index)
	if err != nil {
		c.Open = []string{err.Error()}
		return c, nil
	}
	scratch := filepath.Join(o.Scratch, fmt.Sprintf("gpu-%d", index))
	g.policies(o, scratch+"-words")
	c.Name, c.Questions = g.product.Name, len(g.asked)
	if c.Product = known(g.product, o.Known); c.Product == "" {
		c.Open = append(g.open, fmt.Sprintf("the simulator has no product of PCI device id %#04x: put the recorded one into test/sim/products, look at its sources, and run this again", g.product.PCIDeviceID))
		c.Recorded, err = record(g, d, o.Out)
		return c, err
	}
	twin, err := lookAtTwin(g, c.Product, d, scratch, o.UID)
	if err != nil {
		return c, err
	}
	c.Differences, c.Open = differences(g.answers, twin.answers), g.open
	return c, nil
}

// known is the product with the same PCI device id.
func known(p sim.Product, names []string) string {
	for _, name := range names {
		if q, err := sim.LookupProduct(name); err == nil && q.PCIDeviceID == p.PCIDeviceID {
			return name
		}
	}
	return ""
}

// OK says whether everything could be asked and nothing differs.
func (r Report) OK() bool {
	for _, g := range r.GPUs {
		if len(g.Differences)+len(g.Open) > 0 {
			return false
		}
	}
	return true
}

// Print writes a line for each note, for each GPU, and for each difference.
func (r Report) Print(w io.Writer) {
	for _, line := range r.Notes {
		fmt.Fprintln(w, line)
	}
	for _, g := range r.GPUs {
		against := "against " + g.Product
		if g.Product == "" {
			against = "against nothing"
		}
		fmt.Fprintf(w, "GPU %d, %s, driver %s, %s: %d questions, %d differences, %d open\n",
			g.Index, g.Name, r.Driver, against, g.Questions, len(g.Differences), len(g.Open))
		for _, line := range g.Differences {
			fmt.Fprintf(w, "GPU %d: %s\n", g.Index, line)
		}
		for _, line := range g.Open {
			fmt.Fprintf(w, "GPU %d: could not tell: %s\n", g.Index, line)
		}
		if g.Recorded != "" {
			fmt.Fprintf(w, "GPU %d: recorded in %s\n", g.Index, g.Recorded)
		}
	}
}
