// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

// line writes a rule as "groups/resources names: verbs".
func line(r rbacv1.PolicyRule) string {
	names := ""
	if len(r.ResourceNames) > 0 {
		names = " " + strings.Join(r.ResourceNames, ",")
	}
	return strings.Join(r.APIGroups, ",") + "/" + strings.Join(r.Resources, ",") + names + ": " + strings.Join(r.Verbs, ",")
}

func lines(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, r := range rules {
		all = append(all, line(r))
	}
	return all
}

// Every right is listed here, so that a new one is seen by a reviewer.
func TestRights(t *testing.T) {
	in := mustRender(t)
	cases := map[string]struct{ wide, namespaced []string }{
		"demo-cotenant-kubeletplugin": {
			wide: []string{
				"resource.k8s.io/resourceclaims: get,list",
				"resource.k8s.io/resourceslices: get,list,watch,create,update,patch,delete",
				"/nodes: get,list,watch",
				"/pods: get",
				"/events: create",
				"cotenant.dev/sharingpolicies: get,list,watch",
				"cotenant.dev/gpunodes: get,create",
				"cotenant.dev/gpunodes/status: get,update",
			},
			namespaced: []string{"/events: create"}, // in "default"
		},
		"demo-cotenant-controller": {
			wide: []string{
				"resource.k8s.io/deviceclasses: get,list,watch,create,patch,update,delete",
				"cotenant.dev/gpuclasses,sharingpolicies: get,list,watch,create,patch,update",
				"cotenant.dev/gpuclasses/status,sharingpolicies/status: get,patch,update",
				"cotenant.dev/gpuclasses/finalizers,sharingpolicies/finalizers: update",
				"cotenant.dev/gpunodes: get,list,watch",
				",events.k8s.io/events: create,patch",
			},
			namespaced: []string{
				"coordination.k8s.io/leases cotenant-controller: get,update",
				"/configmaps cotenant-defaults: get,update",
				"coordination.k8s.io/leases: create",
				"/configmaps: create",
			},
		},
	}
	for account, c := range cases {
		t.Run(account, func(t *testing.T) {
			wide, namespaced := rules(in, account)
			if diff := cmp.Diff(c.wide, lines(wide)); diff != "" {
				t.Errorf("cluster-wide (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.namespaced, lines(namespaced)); diff != "" {
				t.Errorf("in the namespace (-want +got):\n%s", diff)
			}
		})
	}
}

// No role of the chart, bound or not, reads secrets, runs something in a pod or
// grants rights.
func TestNoRoleIsDangerous(t *testing.T) {
	in := mustRender(t, walkthrough()...)
	var all []rbacv1.PolicyRule
	for _, r := range of[rbacv1.ClusterRole](in) {
		all = append(all, r.Rules...)
	}
	for _, r := range of[rbacv1.Role](in) {
		all = append(all, r.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	for _, r := range all {
		for _, resource := range r.Resources {
			// A pod may be looked at by who serves its claims.
			pods := strings.HasPrefix(resource, "pods") && (resource != "pods" || !slices.Equal(r.Verbs, []string{"get"}))
			if resource == "*" || resource == "secrets" || pods || strings.Contains(resource, "role") || strings.HasPrefix(resource, "serviceaccounts") {
				t.Errorf("%s", line(r))
			}
		}
		for _, verb := range []string{"*", "escalate", "bind", "impersonate", "deletecollection"} {
			if slices.Contains(r.Verbs, verb) {
				t.Errorf("%s", line(r))
			}
		}
		if slices.Contains(r.APIGroups, "*") {
			t.Errorf("%s", line(r))
		}
	}
}
