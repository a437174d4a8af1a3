// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package selector_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/plugin/selector"
	"github.com/cotenant-dev/cotenant/sharing"
)

// Selector is what sharing asks.
var _ sharing.Match = selector.New().Match

func policy(expression string) *v1alpha1.SharingPolicy {
	p := &v1alpha1.SharingPolicy{}
	p.Spec.GPUSelector = &v1alpha1.GPUSelector{CEL: v1alpha1.CELSelector{Expression: expression}}
	return p
}

var h100 = sharing.GPU{
	Name: "gpu-0", Address: "0000:65:00.0", UUID: "GPU-1", Product: "NVIDIA H100 80GB HBM3", Brand: "Nvidia", Architecture: "Hopper",
	ComputeCapability: "9.0.0", DriverVersion: "535.129.3", CUDAVersion: "12.2.0", MemoryBytes: 81559 << 20, NUMANode: new(1),
}

// gb10 has no memory of its own, and its platform tells no NUMA node.
var gb10 = sharing.GPU{Name: "gpu-1", Address: "000f:01:00.0", UUID: "GPU-2", Product: "NVIDIA GB10", Architecture: "Blackwell"}

func TestMatch(t *testing.T) {
	s := selector.New()
	const gpu = `device.attributes['gpu.nvidia.com']`
	for expression, want := range map[string]struct{ h100, gb10 bool }{
		`true`:                            {true, true},
		`false`:                           {false, false},
		gpu + `.architecture == 'Hopper'`: {true, false},
		gpu + `.?architecture.orValue('') in ['Hopper', 'Blackwell']`: {true, true},
		gpu + `.type == 'gpu'`:                {true, true},
		gpu + `.uuid == 'GPU-2'`:              {false, true},
		gpu + `.productName.contains('H100')`: {true, false},
		gpu + `.?driverVersion.orValue(semver('0.0.0')).isGreaterThan(semver('535.0.0'))`:                  {true, false},
		gpu + `.?cudaComputeCapability.orValue(semver('0.0.0')).compareTo(semver('9.0.0')) == 0`:           {true, false},
		`device.attributes['resource.kubernetes.io'].pciBusID == '0000:65:00.0'`:                           {true, false},
		`device.attributes['resource.kubernetes.io'].?numaNode.orValue(-1) == 1`:                           {true, false},
		`device.capacity['gpu.nvidia.com'].?memory.orValue(quantity('0')).isGreaterThan(quantity('40Gi'))`: {true, false},
		gpu + `.?memoryType.orValue('') == 'unified'`:                                                      {false, true},
		`device.driver == 'gpu.nvidia.com'`:                                                                {true, true},
		`device.attributes['cotenant.dev'].?policy.hasValue()`:                                             {false, false},
		`!device.allowMultipleAllocations`:                                                                 {true, true},
	} {
		for gpu, want := range map[*sharing.GPU]bool{&h100: want.h100, &gb10: want.gb10} {
			if got, err := s.Match(policy(expression), *gpu); err != nil || got != want {
				t.Errorf("%s on the %s: %t, %v; want %t", expression, gpu.Product, got, err, want)
			}
		}
	}
}

// nested asks a list of a hundred for each of another, four deep.
func nested() string {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + "]"
	return fmt.Sprintf("%s.all(a, %s.all(b, %s.all(c, %s.all(d, a + b + c + d > 0))))", list, list, list, list)
}

// An expression that cannot be evaluated is no match, and its error names the
// field and what to do.
func TestExpressionsThatCannotBeEvaluated(t *testing.T) {
	s := selector.New()
	long := "true" + strings.Repeat(" ", resourceapi.CELSelectorExpressionMaxLength-3)
	for name, c := range map[string]struct {
		expression string
		says       []string
	}{
		"a missing attribute": {`device.attributes['gpu.nvidia.com'].color == 'red'`, []string{"no such key: color", ".?name.orValue("}},
		"a missing domain":    {`device.attributes['gpu.example.com'].color == 'red'`, []string{"no such key: color"}},
		"a missing capacity":  {`device.capacity['gpu.nvidia.com'].shares.isGreaterThan(quantity('1'))`, []string{"no such key: shares"}},
		"another type":        {`device.attributes['gpu.nvidia.com'].type == 1 || 'a' < device.attributes['resource.kubernetes.io'].numaNode`, []string{"no such overload"}},
		"a string":            {`device.driver`, []string{"must evaluate to bool"}},
		"a number":            {`1 + 1`, []string{"must evaluate to bool"}},
		"no expression":       {``, []string{"expression"}},
		"a syntax error":      {`device.driver ==`, []string{"compilation failed", "Syntax error"}},
		"an unknown variable": {`gpu.architecture == 'Hopper'`, []string{"undeclared reference to 'gpu'"}},
		"an unknown function": {`device.driver.reversed() == ''`, []string{"undeclared reference to 'reversed'"}},
		"one byte too long":   {long, []string{"has 10241 bytes; at most 10240 are allowed"}},
		"too costly":          {nested(), []string{"cost limit exceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // compiled, and remembered
				is, err := s.Match(policy(c.expression), h100)
				if is || err == nil {
					t.Fatalf("it matches: %t, %v", is, err)
				}
				for _, want := range append(c.says, "gpuSelector.cel.expression") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the error does not say %q: %.300s", want, err)
					}
				}
			}
		})
	}
	if is, err := s.Match(policy(long[:resourceapi.CELSelectorExpressionMaxLength]), h100); err != nil || !is {
		t.Errorf("as long as is allowed: %t, %v", is, err)
	}
}

// Several GPUs may be asked about at once, with more expressions than are
// remembered.
func TestConcurrentUse(t *testing.T) {
	s := selector.New()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 25 {
				n := (i*7 + worker*31) % 200
				gpu, want := h100, n%2 == 0
				if !want {
					gpu = gb10
				}
				is, err := s.Match(policy(fmt.Sprintf("device.attributes['gpu.nvidia.com'].uuid == 'GPU-1' && %d == %d", n, n)), gpu)
				if err != nil || is != want {
					t.Errorf("expression %d: %t, %v; want %t", n, is, err, want)
				}
			}
		})
	}
	wg.Wait()
}
