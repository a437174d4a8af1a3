// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"math"
	"strconv"
	"strings"
)

// Row is one figure.
type Row struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit"`
	Bar   *float64 `json:"bar"`
	// Least says that the value has to reach the bar. Otherwise it may not be above it.
	Least bool `json:"least,omitempty"`
	OK    bool `json:"ok"`
}

// Plain is a figure without a bar.
func Plain(name string, value float64, unit string) Row {
	return Row{Name: name, Value: rounded(value), Unit: unit, OK: true}
}

// AtMost is a figure that may not be above the bar. What is compared is what is
// printed; NaN, which is what nothing measured gives, meets no bar.
func AtMost(name string, value float64, unit string, bar float64) Row {
	r, b := Plain(name, value, unit), rounded(bar)
	r.Bar, r.OK = &b, r.Value <= b
	return r
}

// AtLeast is a figure that may not be below the bar.
func AtLeast(name string, value float64, unit string, bar float64) Row {
	r, b := Plain(name, value, unit), rounded(bar)
	r.Bar, r.Least, r.OK = &b, true, r.Value >= b
	return r
}

func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// String is the row with a tab between its cells.
func (r Row) String() string {
	bar, verdict := "", ""
	if r.Bar != nil {
		bar, verdict = "<= "+number(*r.Bar), "MISSED"
		if r.Least {
			bar = ">= " + number(*r.Bar)
		}
		if r.OK {
			verdict = "ok"
		}
	}
	return strings.TrimRight(strings.Join([]string{r.Name, number(r.Value), r.Unit, bar, verdict}, "\t"), "\t")
}

// number prints as many decimals as mean something.
func number(v float64) string {
	decimals := 2
	if v >= 100 || v == float64(int(v)) {
		decimals = 0
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
