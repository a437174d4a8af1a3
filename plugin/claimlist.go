// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cotenant-dev/cotenant/api"
)

// claimsPage is how many claims one LIST returns.
const claimsPage = 500

// claimLister goes through all claims of the cluster: they have no field by which
// a node could ask for its own. It is for rare occasions.
type claimLister struct {
	client kubernetes.Interface
	pool   string
}

// each calls f with every claim.
func (l *claimLister) each(ctx context.Context, f func(*resourceapi.ResourceClaim)) error {
	opts := metav1.ListOptions{Limit: claimsPage}
	for {
		page, err := l.client.ResourceV1().ResourceClaims(metav1.NamespaceAll).List(ctx, opts)
		if err != nil {
			return err
		}
		for i := range page.Items {
			f(&page.Items[i])
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// devices returns the names of our devices of this node that any claim was
// allocated.
func (l *claimLister) devices(ctx context.Context) (map[string]bool, error) {
	had := map[string]bool{}
	err := l.each(ctx, func(rc *resourceapi.ResourceClaim) {
		if rc.Status.Allocation == nil {
			return
		}
		for _, r := range rc.Status.Allocation.Devices.Results {
			if r.Driver == api.DriverName && r.Pool == l.pool {
				had[r.Device] = true
			}
		}
	})
	return had, err
}
