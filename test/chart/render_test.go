// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"helm.sh/helm/v4/pkg/strvals"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const (
	chartDir  = "../../deploy/helm/cotenant"
	namespace = "nvidia-dra-driver-gpu"
)

// installed is what `helm install demo` would give a cluster.
type installed struct {
	objects []runtime.Object
	notes   string
}

// walkthrough are the values that are set for the upstream driver's chart, as
// they are typed.
func walkthrough() []string {
	const term = "kubeletPlugin.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
	return []string{
		"controller.affinity=null", "gpuResourcesEnabledOverride=true", "resources.computeDomains.enabled=false",
		term + ".key=vke.node.gpu.schedule", term + ".operator=In", term + ".values[0]=nvidia-dra",
	}
}

func load(t *testing.T) *chartv2.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render renders with --set flags, in the namespace.
func render(t *testing.T, namespace string, set ...string) (installed, error) {
	t.Helper()
	values := map[string]any{}
	for _, s := range set {
		if err := strvals.ParseInto(s, values); err != nil {
			t.Fatal(err)
		}
	}
	c := load(t)
	options := common.ReleaseOptions{Name: "demo", Namespace: namespace, Revision: 1, IsInstall: true}
	full, err := util.ToRenderValues(c, values, options, common.DefaultCapabilities)
	if err != nil {
		return installed{}, err
	}
	files, err := engine.Render(c, full)
	if err != nil {
		return installed{}, err
	}
	var in installed
	for name, text := range files {
		if strings.HasSuffix(name, "/NOTES.txt") {
			in.notes = text
			continue
		}
		for _, doc := range releaseutil.SplitManifests(text) {
			if o := decode(t, name, doc); o != nil {
				in.objects = append(in.objects, o)
			}
		}
	}
	return in, nil
}

func mustRender(t *testing.T, set ...string) installed {
	t.Helper()
	in, err := render(t, namespace, set...)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// decode decodes strictly: a field that Kubernetes does not know is an error.
func decode(t *testing.T, name, doc string) runtime.Object {
	t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, doc)
	}
	if kind.Kind == "" {
		return nil // a template that renders comments only
	}
	o, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := yaml.UnmarshalStrict([]byte(doc), o); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, doc)
	}
	return o
}

// of returns the objects of a type, by name.
func of[T any](in installed) map[string]*T {
	found := map[string]*T{}
	for _, o := range in.objects {
		if v, ok := any(o).(*T); ok {
			found[any(o).(metav1.Object).GetName()] = v
		}
	}
	return found
}

func plugin(t *testing.T, in installed) (*appsv1.DaemonSet, corev1.Container) {
	t.Helper()
	ds := of[appsv1.DaemonSet](in)["demo-cotenant-kubelet-plugin"]
	if ds == nil || len(ds.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("no DaemonSet demo-cotenant-kubelet-plugin with one container in %v", of[appsv1.DaemonSet](in))
	}
	return ds, ds.Spec.Template.Spec.Containers[0]
}

func controller(t *testing.T, in installed) (*appsv1.Deployment, corev1.Container) {
	t.Helper()
	d := of[appsv1.Deployment](in)["demo-cotenant-controller"]
	if d == nil || len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("no Deployment demo-cotenant-controller with one container in %v", of[appsv1.Deployment](in))
	}
	return d, d.Spec.Template.Spec.Containers[0]
}

// env are the environment variables that have a value.
func env(c corev1.Container) map[string]string {
	vars := map[string]string{}
	for _, e := range c.Env {
		vars[e.Name] = e.Value
	}
	return vars
}

// rules are those that a service account gets cluster-wide, and in namespaces.
func rules(in installed, account string) (clusterWide, namespaced []rbacv1.PolicyRule) {
	bound := func(subjects []rbacv1.Subject) bool {
		for _, s := range subjects {
			if s.Kind == "ServiceAccount" && s.Name == account && s.Namespace == namespace {
				return true
			}
		}
		return false
	}
	for _, b := range of[rbacv1.ClusterRoleBinding](in) {
		if role := of[rbacv1.ClusterRole](in)[b.RoleRef.Name]; role != nil && bound(b.Subjects) {
			clusterWide = append(clusterWide, role.Rules...)
		}
	}
	for _, b := range of[rbacv1.RoleBinding](in) {
		if role := of[rbacv1.Role](in)[b.RoleRef.Name]; role != nil && bound(b.Subjects) {
			namespaced = append(namespaced, role.Rules...)
		}
	}
	return clusterWide, namespaced
}
