// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/cotenant-dev/cotenant/api"
)

// namespace is where all claims are. Its label lets them ask for admin access,
// which is how a GPU can have more claims than it has room for.
const namespace = "bench"

// writers is how many claims are written at once.
const writers = 8

// scheduler writes claims with their allocation, as the real one would leave
// them.
type scheduler struct {
	client kubernetes.Interface
}

func (s scheduler) makeNamespace(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{resourceapi.DRAAdminNamespaceLabelKey: "true"}}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the namespace %s: %w", namespace, err)
	}
	return nil
}

func (s scheduler) makeNode(ctx context.Context, name string, labels map[string]string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if _, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the node %s: %w", name, err)
	}
	return nil
}

// access is what a claim asks for: a GPU of its own, or a look at one that
// others hold.
type access bool

const (
	ordinary access = false
	admin    access = true
)

// allocate writes n claims called prefix-0 and so on, each with one GPU of the
// node, in turn. They are returned as the kubelet names them.
func (s scheduler) allocate(ctx context.Context, node, prefix string, n int, a access) ([]*drav1.Claim, error) {
	out := make([]*drav1.Claim, n)
	err := inParallel(n, writers, func(i int) error {
		name := fmt.Sprintf("%s-%s-%d", node, prefix, i)
		var err error
		out[i], err = s.allocateOne(ctx, allocated(node, name, fmt.Sprintf("gpu-%d", i%gpus), a))
		return err
	})
	return out, err
}

// allocateOne makes the claim and then writes its status, which the API server
// takes only in a second request.
func (s scheduler) allocateOne(ctx context.Context, want *resourceapi.ResourceClaim) (*drav1.Claim, error) {
	claims := s.client.ResourceV1().ResourceClaims(namespace)
	got, err := claims.Create(ctx, want, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create claim %s: %w", want.Name, err)
	}
	got.Status = want.Status
	if got, err = claims.UpdateStatus(ctx, got, metav1.UpdateOptions{}); err != nil {
		return nil, fmt.Errorf("allocate claim %s: %w", want.Name, err)
	}
	return &drav1.Claim{Namespace: got.Namespace, Name: got.Name, Uid: string(got.UID)}, nil
}

// allocated is a claim for one device of the node's pool, with the status that
// the scheduler gives it.
func allocated(node, name, device string, a access) *resourceapi.ResourceClaim {
	const request = "gpu"
	var adminAccess *bool
	if a == admin {
		adminAccess = new(true)
	}
	onNode := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
			Name: request,
			Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: api.DriverName, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1, AdminAccess: adminAccess,
			},
		}}}},
		Status: resourceapi.ResourceClaimStatus{
			Allocation: &resourceapi.AllocationResult{
				NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{onNode}}}},
				Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{
					Request: request, Driver: api.DriverName, Pool: node, Device: device, AdminAccess: adminAccess,
				}}},
			},
			ReservedFor: []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: uuid.NewUUID()}},
		},
	}
}
