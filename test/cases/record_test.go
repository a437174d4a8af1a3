// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"encoding/json"
	"time"

	"go.etcd.io/bbolt"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
)

// editRecord changes the stored record of a claim behind the plugin's back, while it
// is stopped.
func (n *node) editRecord(uid string, edit func(map[string]any)) {
	n.t.Helper()
	db, err := bbolt.Open(n.paths.Journal(), 0o600, &bbolt.Options{Timeout: time.Second})
	ok(n.t, err)
	defer db.Close()
	ok(n.t, db.Update(func(tx *bbolt.Tx) error {
		claims := tx.Bucket([]byte("v1")).Bucket([]byte("claims"))
		var record map[string]any
		if err := json.Unmarshal(claims.Get([]byte(uid)), &record); err != nil {
			return err
		}
		edit(record)
		raw, err := json.Marshal(record)
		if err != nil {
			return err
		}
		return claims.Put([]byte(uid), raw)
	}))
}

// reconfigure replaces the configurations that a claim was allocated with.
func (n *node) reconfigure(c *resourceapi.ResourceClaim, config ...resourceapi.DeviceAllocationConfiguration) {
	n.t.Helper()
	c.Status.Allocation.Devices.Config = config
	_, err := n.client.ResourceV1().ResourceClaims(c.Namespace).Update(context.Background(), c, metav1.UpdateOptions{})
	ok(n.t, err)
}

// both prepares claims in one call and returns the errors, by claim name.
func (n *node) both(claims ...*resourceapi.ResourceClaim) map[string]string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	defer cancel()
	req := &drav1.NodePrepareResourcesRequest{}
	for _, c := range claims {
		req.Claims = append(req.Claims, ref(c))
	}
	r, err := n.kubelet().NodePrepareResources(ctx, req)
	ok(n.t, err)
	out := map[string]string{}
	for _, c := range claims {
		out[c.Name] = r.Claims[string(c.UID)].Error
	}
	return out
}
