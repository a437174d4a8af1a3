// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package selector evaluates the CEL expressions of SharingPolicies on GPUs, with
// the API server's own library: what it accepts in a DeviceClass, it accepts here.
//
// It may import api, mig, sharing and the CEL packages of Kubernetes.
package selector

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// remembered is how many compiled expressions are kept: more than a node has
// policies with selectors.
const remembered = 128

// Selector evaluates expressions, and remembers them compiled. Make it with New.
type Selector struct {
	cache *dracel.Cache
}

// New returns a selector.
func New() *Selector {
	return &Selector{cache: dracel.NewCache(remembered, dracel.Features{EnableConsumableCapacity: true})}
}

// Match says whether the policy's expression is true for the whole GPU as it
// would be published. It is a sharing.Match.
func (s *Selector) Match(p *v1alpha1.SharingPolicy, g sharing.GPU) (bool, error) {
	expression := p.Spec.GPUSelector.CEL.Expression
	if n := len(expression); n > resourceapi.CELSelectorExpressionMaxLength {
		return false, fmt.Errorf("gpuSelector.cel.expression has %d bytes; at most %d are allowed", n, resourceapi.CELSelectorExpressionMaxLength)
	}
	compiled := s.cache.GetOrCompile(expression)
	if compiled.Error != nil {
		return false, fmt.Errorf("gpuSelector.cel.expression: %w", compiled.Error)
	}
	d := g.Whole()
	is, _, err := compiled.DeviceMatches(context.Background(), dracel.Device{
		Driver: api.DriverName, Attributes: d.Attributes, Capacity: d.Capacity,
	})
	if err != nil {
		return false, fmt.Errorf("gpuSelector.cel.expression: %w; read attributes with .?name.orValue(…)", err)
	}
	return is, nil
}
