// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import "testing"

func TestForm(t *testing.T) {
	for s, want := range map[string]string{
		"GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c":         "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
		"MIG-0929581a-2be6-5dec-bf34-0954c6c529a6":         "MIG-xxxxxxxx-xxxx-5xxx-xxxx-xxxxxxxxxxxx",
		"MIG-0929581a-2be6-4dec-bf34-0954c6c529a6":         "MIG-xxxxxxxx-xxxx-4xxx-xxxx-xxxxxxxxxxxx",
		"MIG-GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c/7/0": "MIG-GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx/x/x",
		"00000000:3B:00.0":                                 "xxxxxxxx:xX:xx.x",
		"0000:3b:00.0":                                     "xxxx:xx:xx.x",
		"":                                                 "",
	} {
		if got := form(s); got != want {
			t.Errorf("%q has the form %q, want %q", s, got, want)
		}
	}
}
