// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// check says what is wrong with a CEL expression over a device, or nil.
type check func(expression string) error

// Compile compiles an expression as the API server does for a DeviceClass, and
// applies its limits: 10 KiB of text and an estimated cost of one million.
func Compile(expression string) error {
	if n := len(expression); n > resourceapi.CELSelectorExpressionMaxLength {
		return fmt.Errorf("it has %d bytes; at most %d are allowed", n, resourceapi.CELSelectorExpressionMaxLength)
	}
	r := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true}).CompileCELExpression(
		expression, dracel.Options{EnvType: ptr.To(environment.NewExpressions)})
	if r.Error != nil {
		return r.Error
	}
	if r.MaxCost > resourceapi.CELSelectorExpressionMaxCost {
		return fmt.Errorf("it may cost %d units on a device; at most %d are allowed", r.MaxCost, resourceapi.CELSelectorExpressionMaxCost)
	}
	return nil
}

// memory remembers what compile said of the expressions of the last two plans,
// since most of them come again and compiling takes about a millisecond.
type memory struct {
	compile   check
	last, now map[string]error
}

// turn starts a plan: what the last but one needed alone is forgotten.
func (m *memory) turn() {
	m.last, m.now = m.now, map[string]error{}
}

func (m *memory) check(expression string) error {
	err, known := m.now[expression]
	if !known {
		if err, known = m.last[expression]; !known {
			err = m.compile(expression)
		}
		m.now[expression] = err
	}
	return err
}
