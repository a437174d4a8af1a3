// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/plugin/kinds"
)

func status() v1alpha1.GPUNodeStatus {
	return v1alpha1.GPUNodeStatus{
		DriverVersion: "535.129.3", GPUCount: 1, Publication: v1alpha1.Publication{Mode: v1alpha1.PublicationFull},
		Policies: []v1alpha1.NodePolicy{{Name: "p", GPUsOwned: 1}},
		GPUs: []v1alpha1.NodeGPU{{Name: "gpu-0", Policy: "p", Condition: "Ready",
			Instances: []v1alpha1.ForeignInstance{{Profile: "1g.10gb", Start: 0}},
			Holds:     []v1alpha1.NodeHold{{Device: "gpu-0", Namespace: "ns", Claim: "c", ClaimUID: "u", Admin: true}}}},
	}
}

// read is the status as somebody else reads it.
func (s *server) read(t *testing.T) v1alpha1.GPUNodeStatus {
	t.Helper()
	u, err := s.Resource(gpuNodes).Get(t.Context(), "n1", metav1.GetOptions{})
	ok(t, err)
	var n v1alpha1.GPUNode
	ok(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &n))
	return n.Status
}

// The object is made once, and its status written when it changed.
func TestReport(t *testing.T) {
	s := newServer()
	c := kinds.New(s)
	var writes []string
	for _, step := range []struct {
		what   string
		status v1alpha1.GPUNodeStatus
		writes []string
	}{
		{"the first", status(), []string{"create gpunodes/", "update gpunodes/status"}},
		{"the same", status(), nil},
		{"one hold more", func() v1alpha1.GPUNodeStatus {
			st := status()
			st.GPUs[0].Holds = append(st.GPUs[0].Holds, v1alpha1.NodeHold{Device: "gpu-0", Namespace: "ns", Claim: "d", ClaimUID: "v"})
			return st
		}(), []string{"update gpunodes/status"}},
		{"none again", status(), []string{"update gpunodes/status"}},
		{"nothing at all", v1alpha1.GPUNodeStatus{}, []string{"update gpunodes/status"}},
		{"and again", v1alpha1.GPUNodeStatus{}, nil},
	} {
		ok(t, c.Report(t.Context(), "n1", step.status))
		writes = append(writes, step.writes...)
		same(t, "writes after "+step.what, s.writes(), writes)
		same(t, "status after "+step.what, s.read(t), step.status)
	}
	// Another plugin of that node, started anew, knows it from the object.
	ok(t, kinds.New(s).Report(t.Context(), "n1", v1alpha1.GPUNodeStatus{}))
	same(t, "writes after a restart", s.writes(), writes)
	// Somebody deletes it.
	ok(t, s.Resource(gpuNodes).Delete(t.Context(), "n1", metav1.DeleteOptions{}))
	ok(t, c.Report(t.Context(), "n1", status()))
	same(t, "status after it was deleted", s.read(t), status())
}

// Each node writes its own.
func TestReportsOfTwoNodes(t *testing.T) {
	s := newServer()
	ok(t, kinds.New(s).Report(t.Context(), "n1", status()))
	ok(t, kinds.New(s).Report(t.Context(), "n2", v1alpha1.GPUNodeStatus{GPUCount: 8}))
	same(t, "status of n1", s.read(t), status())
}

// An error names the object; the next report tries again.
func TestReportFails(t *testing.T) {
	for verb, says := range map[string]string{"get": "get GPUNode n1", "create": "get GPUNode n1", "update": "write the status of GPUNode n1"} {
		t.Run(verb, func(t *testing.T) {
			s := newServer()
			refuse := true
			s.PrependReactor(verb, "gpunodes", func(clienttesting.Action) (bool, runtime.Object, error) {
				return refuse, nil, apierrors.NewConflict(gpuNodes.GroupResource(), "n1", nil)
			})
			err := kinds.New(s).Report(t.Context(), "n1", status())
			if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), says) {
				t.Errorf("the error is %v, want a conflict that says %q", err, says)
			}
			refuse = false
			ok(t, kinds.New(s).Report(t.Context(), "n1", status()))
			same(t, "status", s.read(t), status())
		})
	}
}

// A cluster without the kind has no object to write to, and says so.
func TestReportWithoutTheKind(t *testing.T) {
	s := newServer()
	s.installed.Store(false)
	if err := kinds.New(s).Report(t.Context(), "n1", status()); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "GPUNode n1") {
		t.Errorf("the error is %v", err)
	}
}
