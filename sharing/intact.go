// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "github.com/cotenant-dev/cotenant/api"

// Intact returns why what a prepared claim was granted is no longer there, or
// nil. The hardware must be the very GPUs of the record: same address, same
// UUID, answering.
func Intact(rec Record, devices map[string]Device) error {
	at := map[string]Device{}
	for _, d := range devices {
		at[d.Address] = d
	}
	for _, s := range rec.Steps {
		spec, ok := s.(WriteSpec)
		if !ok {
			continue
		}
		for _, granted := range spec.Devices {
			d, ok := at[granted.Address]
			switch {
			case !ok || d.Condition == Lost:
				why := "this node no longer has it"
				if ok {
					why = d.Why
				}
				return api.Errorf(api.Lost, "the GPU at %s that claim %s/%s was granted is lost: %s; delete the pod to have it scheduled again", granted.Address, rec.Namespace, rec.Name, why)
			case d.UUID != granted.UUID:
				return api.Errorf(api.Lost, "the GPU at %s is now %s; claim %s/%s was granted %s; delete the pod to have it scheduled again", granted.Address, d.UUID, rec.Namespace, rec.Name, granted.UUID)
			}
		}
	}
	return nil
}
