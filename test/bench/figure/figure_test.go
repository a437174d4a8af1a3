// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package figure_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/test/bench/figure"
)

func TestBars(t *testing.T) {
	for _, c := range []struct {
		name          string
		value, bar    float64
		most, atLeast bool // which of the two kinds of bar is met
	}{
		{"below", 7.9, 8, true, false},
		{"at", 8, 8, true, true},
		{"above", 8.001, 8, false, true},
		{"above by less than is printed", 8.0004, 8, true, true},
		{"below by less than is printed", 7.9996, 8, true, true},
		{"none may be and none was", 0, 0, true, true},
		{"none may be and one was", 1, 0, false, true},
		{"nothing was measured", math.NaN(), 8, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, k := range []struct {
				row  figure.Row
				want bool
			}{{figure.AtMost("x", c.value, "ms", c.bar), c.most}, {figure.AtLeast("x", c.value, "ms", c.bar), c.atLeast}} {
				if r := k.row; r.OK != k.want || r.Bar == nil || *r.Bar != c.bar {
					t.Errorf("%v against %v: %+v, want ok %v", c.value, c.bar, r, k.want)
				}
			}
		})
	}
	if r := figure.Plain("x", 1e9, "ms"); !r.OK || r.Bar != nil {
		t.Errorf("a figure without a bar: %+v", r)
	}
}

func TestARowForPeopleAndForPrograms(t *testing.T) {
	for _, c := range []struct {
		row        figure.Row
		text, json string
	}{
		{figure.Plain("floor", 2.50049, "ms"), "floor\t2.50\tms", `{"name":"floor","value":2.5,"unit":"ms","bar":null,"ok":true}`},
		{figure.AtMost("prepare", 9, "ms", 8), "prepare\t9\tms\t<= 8\tMISSED", `{"name":"prepare","value":9,"unit":"ms","bar":8,"ok":false}`},
		{figure.AtMost("burst", 123.4, "ms", 1000), "burst\t123\tms\t<= 1000\tok", `{"name":"burst","value":123.4,"unit":"ms","bar":1000,"ok":true}`},
		{figure.AtLeast("gain", 8.24, "points", 8), "gain\t8.24\tpoints\t>= 8\tok", `{"name":"gain","value":8.24,"unit":"points","bar":8,"least":true,"ok":true}`},
		{figure.AtLeast("gain", -1, "points", 8), "gain\t-1\tpoints\t>= 8\tMISSED", `{"name":"gain","value":-1,"unit":"points","bar":8,"least":true,"ok":false}`},
	} {
		raw, err := json.Marshal(c.row)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{c.text, c.json}, []string{c.row.String(), string(raw)}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
