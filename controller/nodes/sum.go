// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// sum is what all nodes say of one policy.
type sum struct {
	matched, lost int32
}

// sums adds up the reports, by the name of the policy.
func sums(nodes []v1alpha1.GPUNode) map[string]sum {
	out := map[string]sum{}
	for i := range nodes {
		for _, p := range nodes[i].Status.Policies {
			s := out[p.Name]
			s.matched++
			if p.GPUsOwned == 0 && p.GPUsOutranked > 0 {
				s.lost++
			}
			out[p.Name] = s
		}
	}
	return out
}

// differs says whether the policy's status says otherwise.
func (s sum) differs(p *v1alpha1.SharingPolicy) bool {
	return s.matched != p.Status.NodesMatched || s.lost != p.Status.NodesLost
}
