// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
)

// Monitoring holds devices with adminAccess while tenants use them
// (kubernetes/kubernetes#128838, dra-example-driver#264). Whole GPUs.
func TestF07AdminAccessNextToATenant(t *testing.T) {
	// The configuration of an admin claim is not applied, so it is no error.
	settings := configured(inTurns(`"Long"`))
	settings.Source = resourceapi.AllocationConfigSourceClass
	for _, order := range []string{"T M -M N", "M T -M -T"} {
		t.Run(order, func(t *testing.T) {
			n := newNode(t, []string{"A30-24"})
			n.start()
			tenant, monitor := n.claim("tenant", "gpu-0"), n.adminClaim("monitor", "gpu-0", settings)
			if order == "T M -M N" {
				_, err := n.P(tenant)
				ok(t, err)
				_, err = n.P(monitor)
				ok(t, err)
				ok(t, n.U(monitor))
				_, err = n.P(n.claim("next", "gpu-0"))
				refused(t, err, "gpu-0 is held by claim ns/tenant", string(tenant.UID))
			} else {
				_, err := n.P(monitor)
				ok(t, err)
				_, err = n.P(tenant)
				ok(t, err)
				ok(t, n.U(monitor))
				ok(t, n.U(tenant))
				return
			}
			// What the tenant was given still stands.
			got, err := n.P(tenant)
			ok(t, err)
			same(t, "the tenant's nodes", nodesOf(n.container(ids(got))), []string{"/dev/nvidia0"})
		})
	}
}

// Two pods share one claim; restarts repeat the prepare
// (kubernetes/kubernetes#140212, #140527).
func TestF08TwoPodsShareOneClaim(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.start()
	c := n.claim("shared", "gpu-0")
	first, err := n.P(c)
	ok(t, err)
	written := mustStat(t, n.cdiFile(c))
	n.restart()
	for range 3 {
		again, err := n.P(c)
		ok(t, err)
		same(t, "the answer of a repeat", asJSON(t, again), asJSON(t, first))
	}
	if now := mustStat(t, n.cdiFile(c)); !now.ModTime().Equal(written.ModTime()) {
		t.Errorf("the spec was written again at %s, first at %s", now.ModTime(), written.ModTime())
	}
	ok(t, n.U(c))
	if left := n.cdiFiles(); len(left) != 0 {
		t.Errorf("after one unprepare these specs are left: %v", left)
	}
	ok(t, n.U(c))
}

// The second prepare first wrote "started" over "completed"
// (dra-driver-nvidia-gpu#754, #727, #729).
func TestF50PrepareTwiceThenUnprepare(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			n := newNode(t, []string{"A30-24"})
			n.start()
			c := n.claim("c", "gpu-0")
			_, err := n.P(c)
			ok(t, err)
			same(t, "the record", n.records(), map[string]string{string(c.UID): "prepared"})
			_, err = n.P(c)
			ok(t, err)
			same(t, "the record after a repeat", n.records(), map[string]string{string(c.UID): "prepared"})
			if restart {
				n.restart()
			}
			ok(t, n.U(c))
			same(t, "the records after release", n.records(), map[string]string{})
		})
	}
}

// A claim is deleted and made again under the same name while the old one is
// still being torn down (kubernetes/kubernetes#131617, #124323, #131513).
func TestF53SameNameNewUID(t *testing.T) {
	for device, free := range map[string]bool{"gpu-1": true, "gpu-0": false} {
		t.Run(device, func(t *testing.T) {
			n := newNode(t, []string{"A30-24", "A30-24"})
			n.start()
			one := n.claim("x", "gpu-0")
			_, err := n.P(one)
			ok(t, err)
			n.deleteClaim(one)
			two := n.claim("x", device)
			if one.UID == two.UID {
				t.Fatal("the fake API server gave both claims one UID")
			}
			_, err = n.P(two)
			if !free {
				refused(t, err, "held", string(one.UID))
				ok(t, n.U(one))
				_, err = n.P(two)
				ok(t, err)
				ok(t, n.U(two))
				return
			}
			ok(t, err)
			ok(t, n.U(one))
			same(t, "the records", n.records(), map[string]string{string(two.UID): "prepared"})
			got, err := n.P(two)
			ok(t, err)
			same(t, "the nodes of the new claim", nodesOf(n.container(ids(got))), []string{"/dev/nvidia1"})
			ok(t, n.U(two))
		})
	}
}

// Unprepare carries only names; the claim may be gone and the API unreachable
// (dra-driver-nvidia-gpu#340, #342, #109; kubernetes/kubernetes#119307).
func TestF59UnprepareWithoutTheAPIServer(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.start()
	c := n.claim("c", "gpu-0")
	_, err := n.P(c)
	ok(t, err)
	var mu sync.Mutex
	reads := 0
	n.client.PrependReactor("*", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		reads++
		return true, nil, fmt.Errorf("the API server is away")
	})
	unknown := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "never", UID: "never-seen"}}
	ok(t, n.U(unknown))
	ok(t, n.U(c))
	ok(t, n.U(c))
	mu.Lock()
	defer mu.Unlock()
	if reads != 0 {
		t.Errorf("unprepare asked the API server for claims %d times", reads)
	}
}

// Two prepares pass the check before either records its claim
// (kubernetes/kubernetes#129442, #128981). Whole GPUs.
func TestF95TwoPreparesAtOnce(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.start()
	a, b := n.claim("a", "gpu-0"), n.claim("b", "gpu-0")
	for round := range 1000 {
		errs := n.atOnce(a, b)
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("round %d: a: %v, b: %v; want exactly one to win", round, errs[0], errs[1])
		}
		winner, loser := a, b
		if errs[0] != nil {
			winner, loser = b, a
		}
		same(t, "the records", n.records(), map[string]string{string(winner.UID): "prepared"})
		same(t, "the specs", len(n.cdiFiles()), 1)
		ok(t, n.U(winner))
		ok(t, n.U(loser))
	}
	// The same claim twice at once: one preparation, two equal answers.
	for range 100 {
		errs := n.atOnce(a, a)
		ok(t, errs[0])
		ok(t, errs[1])
		ok(t, n.U(a))
	}
}

// atOnce prepares the claims in concurrent calls and returns their errors.
func (n *node) atOnce(claims ...*resourceapi.ResourceClaim) []error {
	errs := make([]error, len(claims))
	var wg sync.WaitGroup
	for i, c := range claims {
		wg.Go(func() { _, errs[i] = n.P(c) })
	}
	wg.Wait()
	return errs
}

// One claim of a batch that fails hides no other claim's result.
func TestBatchFailsOneByOne(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.start()
	good, bad := n.claim("good", "gpu-0"), n.claim("bad", "gpu-7")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := n.kubelet().NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{Claims: []*drav1.Claim{ref(good), ref(bad)}})
	ok(t, err)
	if got := r.Claims[string(good.UID)]; got.Error != "" || len(got.Devices) != 1 {
		t.Errorf("the good claim got %v", got)
	}
	refused(t, fmt.Errorf("%s", r.Claims[string(bad.UID)].Error), "gpu-7", "does not have")
}
