// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// discovery is as much of an API server as it takes to know the kinds.
func discovery(t *testing.T, served ...string) *httptest.Server {
	t.Helper()
	resources := map[string][]metav1.APIResource{
		"resource.k8s.io/v1":    {{Name: "deviceclasses", Kind: "DeviceClass"}},
		"cotenant.dev/v1alpha1": {{Name: "gpuclasses", Kind: "GPUClass"}, {Name: "sharingpolicies", Kind: "SharingPolicy"}, {Name: "gpunodes", Kind: "GPUNode"}},
	}
	var groups metav1.APIGroupList
	mux := http.NewServeMux()
	serve := func(path string, answer any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		})
	}
	for _, gv := range served {
		list := resources[gv]
		group, version, _ := strings.Cut(gv, "/")
		v := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: version}
		g := metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
		groups.Groups = append(groups.Groups, g)
		serve("/apis/"+gv, metav1.APIResourceList{GroupVersion: gv, APIResources: list})
		serve("/apis/"+group, g)
	}
	serve("/api", metav1.APIVersions{Versions: []string{"v1"}})
	serve("/api/v1", metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true}}})
	serve("/apis", groups)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Every loop registers: nothing in the list contradicts something else in it. A
// cluster without our CRDs is told at once, and not by loops that never start.
func TestNew(t *testing.T) {
	log, _ := ktesting.NewTestContext(t)
	o := Options{Namespace: "cotenant", LeaderElection: true, MetricsAddress: "0", HealthAddress: "0", Log: log}
	if _, err := New(&rest.Config{Host: discovery(t, "resource.k8s.io/v1", "cotenant.dev/v1alpha1").URL}, o); err != nil {
		t.Error(err)
	}
	_, err := New(&rest.Config{Host: discovery(t, "resource.k8s.io/v1").URL}, o)
	if err == nil || !strings.Contains(err.Error(), "apply the CRDs") {
		t.Errorf("without the CRDs: %v", err)
	}
}

// What is read survives the cache; the rest is not kept.
func TestStripped(t *testing.T) {
	noise := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	owner := []metav1.OwnerReference{{Name: "x"}}
	notes := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	meta := metav1.ObjectMeta{
		Name: "a", UID: "u", ResourceVersion: "7", Generation: 2, Finalizers: []string{"f"},
		Annotations: notes, Labels: notes, ManagedFields: noise, OwnerReferences: owner,
	}
	kept := metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "7", Generation: 2, Finalizers: []string{"f"}}
	marked := kept
	marked.Annotations, marked.Labels = notes, notes
	spec := v1alpha1.GPUClassSpec{ExtendedResourceName: "x.com/gpu"}
	cases := map[string]struct{ in, want client.Object }{
		"GPUClass": {&v1alpha1.GPUClass{ObjectMeta: meta, Spec: spec}, &v1alpha1.GPUClass{ObjectMeta: kept, Spec: spec}},
		"SharingPolicy": {&v1alpha1.SharingPolicy{ObjectMeta: meta, Spec: v1alpha1.SharingPolicySpec{Priority: 3}},
			&v1alpha1.SharingPolicy{ObjectMeta: kept, Spec: v1alpha1.SharingPolicySpec{Priority: 3}}},
		"GPUNode": {&v1alpha1.GPUNode{ObjectMeta: meta, Status: v1alpha1.GPUNodeStatus{GPUCount: 8, GPUs: []v1alpha1.NodeGPU{{Name: "gpu-0"}}, Policies: []v1alpha1.NodePolicy{{Name: "p"}}}},
			&v1alpha1.GPUNode{ObjectMeta: kept, Status: v1alpha1.GPUNodeStatus{Policies: []v1alpha1.NodePolicy{{Name: "p"}}}}},
		"DeviceClass": {&resourceapi.DeviceClass{ObjectMeta: meta, Spec: resourceapi.DeviceClassSpec{ExtendedResourceName: new("x.com/gpu")}},
			&resourceapi.DeviceClass{ObjectMeta: marked, Spec: resourceapi.DeviceClassSpec{ExtendedResourceName: new("x.com/gpu")}}},
	}
	transforms := map[string]toolscache.TransformFunc{}
	for o, by := range stripped() {
		switch o.(type) {
		case *v1alpha1.GPUClass:
			transforms["GPUClass"] = by.Transform
		case *v1alpha1.SharingPolicy:
			transforms["SharingPolicy"] = by.Transform
		case *v1alpha1.GPUNode:
			transforms["GPUNode"] = by.Transform
		case *resourceapi.DeviceClass:
			transforms["DeviceClass"] = by.Transform
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := transforms[name](c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("in the cache (-want +got):\n%s", diff)
			}
		})
	}
	// An informer that missed a deletion hands over something else.
	gone := toolscache.DeletedFinalStateUnknown{Key: "a"}
	for name, transform := range transforms {
		if got, err := transform(gone); err != nil || got != any(gone) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
