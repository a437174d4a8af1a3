// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestLint(t *testing.T) {
	for _, m := range lint.RunAll(chartDir, nil, namespace).Messages {
		if m.Severity >= support.WarningSev {
			t.Error(m)
		}
	}
}

func TestKubernetesVersions(t *testing.T) {
	supported := load(t).Metadata.KubeVersion
	for version, want := range map[string]bool{"v1.33.9": false, "v1.34.0": true, "v1.34.4-vke.1": true, "v1.37.2": true} {
		if got := chartutil.IsCompatibleRange(supported, version); got != want {
			t.Errorf("%s on Kubernetes %s: %v, want %v", supported, version, got, want)
		}
	}
}

func TestDefinitionsAreShipped(t *testing.T) {
	var names []string
	for _, crd := range load(t).CRDObjects() {
		names = append(names, crd.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"crds/cotenant.dev_gpuclasses.yaml", "crds/cotenant.dev_gpunodes.yaml", "crds/cotenant.dev_sharingpolicies.yaml"}, names); diff != "" {
		t.Errorf("CRDs (-want +got):\n%s", diff)
	}
}

// The values that are set for the upstream driver mean the same here.
func TestWalkthrough(t *testing.T) {
	in := mustRender(t, walkthrough()...)
	ds, _ := plugin(t, in)
	want := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "vke.node.gpu.schedule", Operator: corev1.NodeSelectorOpIn, Values: []string{"nvidia-dra"}}}}}}}}
	if diff := cmp.Diff(want, ds.Spec.Template.Spec.Affinity); diff != "" {
		t.Errorf("affinity of the plugin (-want +got):\n%s", diff)
	}
	d, _ := controller(t, in)
	if d.Spec.Template.Spec.Affinity != nil {
		t.Errorf("affinity of the controller: %v", d.Spec.Template.Spec.Affinity)
	}
	if ds.Namespace != namespace || d.Namespace != namespace {
		t.Errorf("namespaces %s and %s", ds.Namespace, d.Namespace)
	}
	if strings.Contains(in.notes, "no effect") {
		t.Errorf("the notes call a value of the walkthrough useless:\n%s", in.notes)
	}
}

func TestPlugin(t *testing.T) {
	ds, c := plugin(t, mustRender(t))
	pod := ds.Spec.Template
	if ds.Spec.Template.Labels["dra-driver-nvidia-gpu-component"] != "kubelet-plugin" || c.Name != "gpus" || c.Image != "cotenant.dev/plugin:dev" {
		t.Errorf("labels %v, container %s of %s", pod.Labels, c.Name, c.Image)
	}
	if pod.Spec.HostPID || pod.Spec.HostNetwork || pod.Spec.HostIPC || c.SecurityContext == nil || !*c.SecurityContext.Privileged {
		t.Errorf("hostPID %v, hostNetwork %v, security %v", pod.Spec.HostPID, pod.Spec.HostNetwork, c.SecurityContext)
	}
	for k, v := range ds.Spec.Selector.MatchLabels {
		if pod.Labels[k] != v {
			t.Errorf("the selector %s=%s does not match the pod's labels %v", k, v, pod.Labels)
		}
	}
	wantEnv := map[string]string{
		"NODE_NAME": "", "CDI_ROOT": "/var/run/cdi", "NVIDIA_DRIVER_ROOT": "/", "DRIVER_ROOT_CTR_PATH": "/driver-root",
		"KUBELET_REGISTRAR_DIRECTORY_PATH": "/var/lib/kubelet/plugins_registry", "KUBELET_PLUGINS_DIRECTORY_PATH": "/var/lib/kubelet/plugins",
		"HEALTHCHECK_PORT": "51516", "LOG_VERBOSITY": "1", "NVIDIA_VISIBLE_DEVICES": "void",
	}
	if diff := cmp.Diff(wantEnv, env(c)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if f := c.Env[0].ValueFrom; f == nil || f.FieldRef == nil || f.FieldRef.FieldPath != "spec.nodeName" {
		t.Errorf("NODE_NAME comes from %v", f)
	}
	for probe, service := range map[*corev1.Probe]string{c.LivenessProbe: "liveness", c.StartupProbe: "liveness", c.ReadinessProbe: "readiness"} {
		if probe == nil || probe.GRPC == nil || probe.GRPC.Port != 51516 || *probe.GRPC.Service != service {
			t.Errorf("probe of %s: %v", service, probe)
		}
	}
	update := ds.Spec.UpdateStrategy
	if update.RollingUpdate == nil || *update.RollingUpdate.MaxUnavailable != intstr.FromString("10%") || *update.RollingUpdate.MaxSurge != intstr.FromInt32(0) {
		t.Errorf("update strategy %v", update)
	}
	tolerations := []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: "Exists", Effect: "NoSchedule"}}
	if diff := cmp.Diff(tolerations, pod.Spec.Tolerations); diff != "" || pod.Spec.PriorityClassName != "system-node-critical" {
		t.Errorf("priority %q, tolerations (-want +got):\n%s", pod.Spec.PriorityClassName, diff)
	}
}

// The kubelet and the container runtime find the plugin's files where it does.
func TestPluginMounts(t *testing.T) {
	cases := map[string]struct {
		set  []string
		want map[string]string // where in the container: where on the node, and how
	}{
		"defaults": {nil, map[string]string{
			"/var/lib/kubelet/plugins": "/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry": "/var/lib/kubelet/plugins_registry",
			"/var/run/cdi": "/var/run/cdi DirectoryOrCreate", "/driver-root": "/ DirectoryOrCreate read-only HostToContainer", "/run/cotenant": "/run/cotenant DirectoryOrCreate read-only"}},
		"elsewhere": {[]string{"nvidiaDriverRoot=/run/nvidia/driver", "kubeletPlugin.kubeletPluginsDirectoryPath=/data/plugins", "kubeletPlugin.kubeletRegistrarDirectoryPath=/data/registry"},
			map[string]string{"/data/plugins": "/data/plugins", "/data/registry": "/data/registry", "/var/run/cdi": "/var/run/cdi DirectoryOrCreate",
				"/driver-root": "/run/nvidia/driver DirectoryOrCreate read-only HostToContainer", "/run/cotenant": "/run/cotenant DirectoryOrCreate read-only"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ds, c := plugin(t, mustRender(t, tc.set...))
			volumes := map[string]string{}
			for _, v := range ds.Spec.Template.Spec.Volumes {
				volumes[v.Name] = v.HostPath.Path
				if v.HostPath.Type != nil {
					volumes[v.Name] += " " + string(*v.HostPath.Type)
				}
			}
			got := map[string]string{}
			for _, m := range c.VolumeMounts {
				got[m.MountPath] = volumes[m.Name]
				if m.ReadOnly {
					got[m.MountPath] += " read-only"
				}
				if m.MountPropagation != nil {
					got[m.MountPath] += " " + string(*m.MountPropagation)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("mounts (-want +got):\n%s", diff)
			}
			vars := env(c)
			if _, at := got[vars["KUBELET_PLUGINS_DIRECTORY_PATH"]]; !at {
				t.Errorf("the plugin looks for its directory at %s", vars["KUBELET_PLUGINS_DIRECTORY_PATH"])
			}
			if _, at := got[vars["KUBELET_REGISTRAR_DIRECTORY_PATH"]]; !at {
				t.Errorf("the plugin looks for the registry at %s", vars["KUBELET_REGISTRAR_DIRECTORY_PATH"])
			}
			if !strings.HasPrefix(got["/driver-root"], vars["NVIDIA_DRIVER_ROOT"]) {
				t.Errorf("the plugin says that the driver is at %s", vars["NVIDIA_DRIVER_ROOT"])
			}
		})
	}
}

func TestController(t *testing.T) {
	d, c := controller(t, mustRender(t))
	want := []string{"--leader-elect=true", "--metrics-bind-address=:8080", "--health-probe-bind-address=:8081", "-v=1"}
	if diff := cmp.Diff(want, c.Args); diff != "" || c.Image != "cotenant.dev/controller:dev" {
		t.Errorf("image %s, arguments (-want +got):\n%s", c.Image, diff)
	}
	s := c.SecurityContext
	if s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !*d.Spec.Template.Spec.SecurityContext.RunAsNonRoot {
		t.Errorf("security %v", s)
	}
	if _, set := env(c)["NAMESPACE"]; !set || c.LivenessProbe.HTTPGet.Port.IntValue() != 8081 || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("environment %v, probes %v and %v", c.Env, c.LivenessProbe, c.ReadinessProbe)
	}
}

// What each switch and value changes.
func TestValues(t *testing.T) {
	cases := map[string]struct {
		set   []string
		check func(t *testing.T, in installed)
	}{
		"only the controller": {[]string{"resources.gpus.enabled=false"}, func(t *testing.T, in installed) {
			if n := len(of[appsv1.DaemonSet](in)); n != 0 {
				t.Errorf("%d DaemonSets", n)
			}
			wide, _ := rules(in, "demo-cotenant-kubeletplugin")
			if len(wide) > 0 || of[corev1.ServiceAccount](in)["demo-cotenant-kubeletplugin"] != nil {
				t.Errorf("the plugin that is not there has an account or rights: %v", wide)
			}
			controller(t, in)
		}},
		"accounts of others": {[]string{"serviceAccount.create=false", "serviceAccount.name=theirs"}, func(t *testing.T, in installed) {
			ds, _ := plugin(t, in)
			d, _ := controller(t, in)
			if n := len(of[corev1.ServiceAccount](in)); n != 0 || ds.Spec.Template.Spec.ServiceAccountName != "theirs-kubeletplugin" || d.Spec.Template.Spec.ServiceAccountName != "theirs-controller" {
				t.Errorf("%d accounts; %s and %s are used", n, ds.Spec.Template.Spec.ServiceAccountName, d.Spec.Template.Spec.ServiceAccountName)
			}
			if wide, _ := rules(in, "theirs-controller"); len(wide) == 0 {
				t.Error("theirs-controller has no rights")
			}
		}},
		"no leader election": {[]string{"controller.leaderElection.enabled=false"}, hasArgument("--leader-elect=false")},
		"no metrics":         {[]string{"controller.metrics.enabled=false"}, hasArgument("--metrics-bind-address=0")},
		"metrics elsewhere":  {[]string{"controller.metrics.httpEndpoint=:9000"}, hasArgument("--metrics-bind-address=:9000")},
		"verbosity as number": {[]string{"logVerbosity=6"}, func(t *testing.T, in installed) {
			_, c := plugin(t, in)
			if v := env(c)["LOG_VERBOSITY"]; v != "6" {
				t.Errorf("LOG_VERBOSITY is %q", v)
			}
			hasArgument("-v=6")(t, in)
		}},
		"no probes": {[]string{"kubeletPlugin.containers.gpus.healthcheckPort=-1"}, func(t *testing.T, in installed) {
			_, c := plugin(t, in)
			if c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil || env(c)["HEALTHCHECK_PORT"] != "-1" {
				t.Errorf("probes %v, %v, port %s", c.LivenessProbe, c.ReadinessProbe, env(c)["HEALTHCHECK_PORT"])
			}
		}},
		"images": {[]string{"image.repository=example.com/p", "image.tag=v1", "image.pullPolicy=Never", "controller.image.repository=example.com/c"}, func(t *testing.T, in installed) {
			_, p := plugin(t, in)
			_, c := controller(t, in)
			if p.Image != "example.com/p:v1" || c.Image != "example.com/c:v1" || p.ImagePullPolicy != "Never" || c.ImagePullPolicy != "Never" {
				t.Errorf("%s %s, %s %s", p.Image, p.ImagePullPolicy, c.Image, c.ImagePullPolicy)
			}
		}},
		"image of the controller": {[]string{"image.tag=v1", "controller.image.tag=v2", "controller.image.pullPolicy=Always"}, func(t *testing.T, in installed) {
			if _, c := controller(t, in); c.Image != "cotenant.dev/controller:v2" || c.ImagePullPolicy != "Always" {
				t.Errorf("%s %s", c.Image, c.ImagePullPolicy)
			}
		}},
		"a simulated node": {[]string{"kubeletPlugin.containers.gpus.env[0].name=PROC_ROOT", "kubeletPlugin.containers.gpus.env[0].value=/run/cotenant-sim/proc"}, func(t *testing.T, in installed) {
			if _, c := plugin(t, in); env(c)["PROC_ROOT"] != "/run/cotenant-sim/proc" || env(c)["CDI_ROOT"] == "" {
				t.Errorf("environment %v", env(c))
			}
		}},
		"the hook of the node": {[]string{"nvidiaCDIHookPath=/usr/bin/nvidia-cdi-hook"}, func(t *testing.T, in installed) {
			if _, c := plugin(t, in); env(c)["NVIDIA_CDI_HOOK_PATH"] != "/usr/bin/nvidia-cdi-hook" {
				t.Errorf("environment %v", env(c))
			}
		}},
		"another namespace": {[]string{"namespaceOverride=elsewhere"}, func(t *testing.T, in installed) {
			d, _ := controller(t, in)
			for _, b := range of[rbacv1.ClusterRoleBinding](in) {
				if b.Subjects[0].Namespace != "elsewhere" {
					t.Errorf("%s binds an account in %s", b.Name, b.Subjects[0].Namespace)
				}
			}
			if d.Namespace != "elsewhere" {
				t.Errorf("the controller is in %s", d.Namespace)
			}
		}},
		"a long name": {[]string{"fullnameOverride=" + strings.Repeat("x", 80)}, func(t *testing.T, in installed) {
			for name := range of[appsv1.DaemonSet](in) {
				if len(name) > 63 {
					t.Errorf("%s has %d characters", name, len(name))
				}
			}
		}},
		"labels of others": {[]string{"selectorLabelsOverride.app=gpus"}, func(t *testing.T, in installed) {
			ds, _ := plugin(t, in)
			want := map[string]string{"app": "gpus", "dra-driver-nvidia-gpu-component": "kubelet-plugin"}
			if diff := cmp.Diff(want, ds.Spec.Selector.MatchLabels); diff != "" || ds.Spec.Template.Labels["app"] != "gpus" {
				t.Errorf("selector (-want +got):\n%s", diff)
			}
		}},
		"more node selection": {[]string{"kubeletPlugin.nodeSelector.pool=gpus", "kubeletPlugin.tolerations=null", "kubeletPlugin.affinity=null"}, func(t *testing.T, in installed) {
			ds, _ := plugin(t, in)
			pod := ds.Spec.Template.Spec
			if pod.Affinity != nil || len(pod.Tolerations) > 0 || pod.NodeSelector["pool"] != "gpus" {
				t.Errorf("affinity %v, tolerations %v, selector %v", pod.Affinity, pod.Tolerations, pod.NodeSelector)
			}
		}},
		"upstream's values without a meaning": {[]string{"featureGates.DynamicMIG=true", "webhook.enabled=true", "consumableShares=memory", "kubeletPlugin.metrics.enabled=true",
			"resources.computeDomains.imex.mode=driverManaged", "kubeletPlugin.containers.init.resources.limits.cpu=1", "controller.networkPolicy.enabled=true"},
			func(t *testing.T, in installed) {
				_, note, _ := strings.Cut(in.notes, "have no effect in Cotenant:")
				want := []string{"", "- consumableShares", "- featureGates", "- webhook.enabled", "- controller.networkPolicy.enabled", "- kubeletPlugin.metrics", "- kubeletPlugin.containers.init"}
				if diff := cmp.Diff(want, strings.Split(strings.TrimRight(note[1:], "\n"), "\n")); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
			}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { c.check(t, mustRender(t, c.set...)) })
	}
}

func hasArgument(want string) func(*testing.T, installed) {
	return func(t *testing.T, in installed) {
		t.Helper()
		if _, c := controller(t, in); !slices.Contains(c.Args, want) {
			t.Errorf("%s is not in %v", want, c.Args)
		}
	}
}

// A value that cannot be meant is refused, and the message says what to do.
func TestRefusedValues(t *testing.T) {
	cases := map[string]struct {
		namespace string
		set       []string
		want      string // "" is accepted
	}{
		"ComputeDomains":           {namespace, []string{"resources.computeDomains.enabled=true"}, "serves GPUs and no ComputeDomains"},
		"the namespace default":    {"default", nil, "set allowDefaultNamespace=true"},
		"and if it is meant":       {"default", []string{"allowDefaultNamespace=true"}, ""},
		"the override is default":  {namespace, []string{"namespaceOverride=default"}, "set allowDefaultNamespace=true"},
		"no permission for GPUs":   {namespace, []string{"gpuResourcesEnabledOverride=false"}, ""},
		"a misspelt value":         {namespace, []string{"nvidiaDriverroot=/run/nvidia/driver"}, "nvidiaDriverroot"},
		"a misspelt value below":   {namespace, []string{"kubeletPlugin.containers.gpus.enviroment=x"}, "enviroment"},
		"a relative path":          {namespace, []string{"nvidiaDriverRoot=run/nvidia"}, "nvidiaDriverRoot"},
		"no port":                  {namespace, []string{"kubeletPlugin.containers.gpus.healthcheckPort=70000"}, "healthcheckPort"},
		"a word for a number":      {namespace, []string{"logVerbosity=debug"}, "logVerbosity"},
		"an unknown pull policy":   {namespace, []string{"image.pullPolicy=Sometimes"}, "pullPolicy"},
		"a string for a switch":    {namespace, []string{"resources.gpus.enabled=maybe"}, "enabled"},
		"values that others share": {namespace, []string{"global.x=y"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, c.namespace, c.set...)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v does not say %q", err, c.want)
			}
		})
	}
}

// The upstream chart's permission for GPUs changes nothing here.
func TestOverrideChangesNothing(t *testing.T) {
	a, b := mustRender(t), mustRender(t, "gpuResourcesEnabledOverride=true")
	if diff := cmp.Diff(byName(a), byName(b)); diff != "" {
		t.Errorf("objects (-without +with):\n%s", diff)
	}
}

func byName(in installed) map[string]any {
	all := map[string]any{}
	maps.Copy(all, anys(of[appsv1.DaemonSet](in)))
	maps.Copy(all, anys(of[appsv1.Deployment](in)))
	maps.Copy(all, anys(of[rbacv1.ClusterRole](in)))
	return all
}

func anys[T any](m map[string]*T) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}
