// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"github.com/spf13/pflag"
)

// value is a pflag.Value over one field of the options.
type value[T any] struct {
	dst   *T
	kind  string
	parse func(string) (T, error)
	print func(T) string
}

func (v value[T]) Set(s string) error {
	x, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.dst = x
	return nil
}

func (v value[T]) String() string {
	if v.dst == nil {
		return ""
	}
	return v.print(*v.dst)
}

func (v value[T]) Type() string { return v.kind }

func text(f func(*options) *string) func(*options) pflag.Value {
	return func(o *options) pflag.Value {
		return value[string]{f(o), "string", func(s string) (string, error) { return s, nil }, func(s string) string { return s }}
	}
}

func number(f func(*options) *int) func(*options) pflag.Value {
	return func(o *options) pflag.Value { return value[int]{f(o), "int", strconv.Atoi, strconv.Itoa} }
}

func decimal(f func(*options) *float64) func(*options) pflag.Value {
	return func(o *options) pflag.Value {
		parse := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
		return value[float64]{f(o), "float", parse, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }}
	}
}
