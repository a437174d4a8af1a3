// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cotenant-dev/cotenant/plugin"
)

// options are what the command line and the environment say.
type options struct {
	nodeName        string
	kubeconfig      string
	healthcheckPort int
	verbosity       int
	qps             float64
	burst           int
	hookPath        string
	paths           plugin.Paths
	// ignored are upstream's options that were set and mean nothing here.
	ignored []string

	unused map[string]*string
	flags  *pflag.FlagSet
}

// option is one flag with the environment variables it takes its default from.
// The names are the upstream driver's where it has the same.
type option struct {
	flag string
	env  []string
	def  string
	help string
	set  func(*options) pflag.Value
}

var known = []option{
	{"node-name", []string{"NODE_NAME"}, "", "name of the node this runs on; also the name of its pool (required)", text(func(o *options) *string { return &o.nodeName })},
	{"kubeconfig", []string{"KUBECONFIG"}, "", "kubeconfig file; in-cluster configuration if empty", text(func(o *options) *string { return &o.kubeconfig })},
	{"cdi-root", []string{"CDI_ROOT"}, "/etc/cdi", "directory for CDI specs; the container runtime must read it", text(func(o *options) *string { return &o.paths.CDIRoot })},
	{"nvidia-driver-root", []string{"NVIDIA_DRIVER_ROOT", "HOST_DRIVER_ROOT"}, "/", "driver root as the container runtime sees it", text(func(o *options) *string { return &o.paths.HostDriverRoot })},
	{"container-driver-root", []string{"DRIVER_ROOT_CTR_PATH"}, "/driver-root", "driver root as this process sees it", text(func(o *options) *string { return &o.paths.DriverRoot })},
	{"dev-root", []string{"DEV_ROOT"}, "", "directory above dev/nvidia*; the driver root if that has one, else /", text(func(o *options) *string { return &o.paths.DevRoot })},
	{"proc-root", []string{"PROC_ROOT"}, "/proc", "procfs of the host", text(func(o *options) *string { return &o.paths.ProcRoot })},
	{"sys-root", []string{"SYS_ROOT"}, "/sys", "sysfs of the host", text(func(o *options) *string { return &o.paths.SysRoot })},
	{"nvidia-cdi-hook-path", []string{"NVIDIA_CDI_HOOK_PATH"}, "", "nvidia-cdi-hook as the container runtime sees it; ours is installed in the plugin's directory if empty", text(func(o *options) *string { return &o.hookPath })},
	{"kubelet-registrar-directory-path", []string{"KUBELET_REGISTRAR_DIRECTORY_PATH"}, "/var/lib/kubelet/plugins_registry", "directory that the kubelet watches for plugins", text(func(o *options) *string { return &o.paths.Registry })},
	{"kubelet-plugins-directory-path", []string{"KUBELET_PLUGINS_DIRECTORY_PATH"}, "/var/lib/kubelet/plugins", "kubelet's directory of plugin data", text(func(o *options) *string { return &o.paths.Plugins })},
	{"mps-socket", []string{"MPS_SOCKET"}, "/run/cotenant/mps.sock", "socket of cotenant-mps, which supervises MPS control daemons", text(func(o *options) *string { return &o.paths.MPSSocket })},
	{"mps-root", []string{"MPS_ROOT"}, "/run/cotenant/mps", "directory of the MPS control daemons as the container runtime sees it; --root of cotenant-mps", text(func(o *options) *string { return &o.paths.MPSRoot })},
	{"healthcheck-port", []string{"HEALTHCHECK_PORT"}, "-1", "TCP port of the gRPC health service; -1 for none, 0 for any", number(func(o *options) *int { return &o.healthcheckPort })},
	{"kube-api-qps", []string{"KUBE_API_QPS"}, "-1", "requests a second to the API server; -1 for no limit", decimal(func(o *options) *float64 { return &o.qps })},
	{"kube-api-burst", []string{"KUBE_API_BURST"}, "1000", "requests to the API server at once, where kube-api-qps limits them", number(func(o *options) *int { return &o.burst })},
}

// upstreamOnly are options of the upstream driver without a meaning here. They
// are accepted, so that its manifests work, and warned about when set.
var upstreamOnly = []option{
	{flag: "namespace", env: []string{"NAMESPACE"}},
	{flag: "host-root", env: []string{"HOST_ROOT"}},
	{flag: "image-name", env: []string{"IMAGE_NAME"}},
	{flag: "image-pull-secrets", env: []string{"IMAGE_PULL_SECRETS"}},
	{flag: "image-pull-policy", env: []string{"IMAGE_PULL_POLICY"}},
	{flag: "service-account-name", env: []string{"SERVICE_ACCOUNT_NAME"}},
	{flag: "additional-xids-to-ignore", env: []string{"ADDITIONAL_XIDS_TO_IGNORE"}},
	{flag: "http-endpoint", env: []string{"HTTP_ENDPOINT"}},
	{flag: "metrics-path", env: []string{"METRICS_PATH"}},
	{flag: "consumable-shares", env: []string{"CONSUMABLE_SHARES"}},
	{flag: "feature-gates", env: []string{"FEATURE_GATES"}},
}

// register adds the flags. The error is that of an environment variable.
func (o *options) register(fs *pflag.FlagSet, env func(string) string) error {
	o.flags = fs
	var errs []error
	for _, k := range known {
		v := k.set(o)
		if err := v.Set(k.def); err != nil {
			errs = append(errs, err)
		}
		for _, name := range k.env {
			if s := env(name); s != "" {
				if err := v.Set(s); err != nil {
					errs = append(errs, fmt.Errorf("environment variable %s: %q is not a valid value for --%s", name, s, k.flag))
				}
				break
			}
		}
		fs.Var(v, k.flag, k.help+" (env "+k.env[0]+")")
	}
	o.unused = map[string]*string{}
	for _, k := range upstreamOnly {
		s := env(k.env[0])
		o.unused[k.flag] = &s
		fs.StringVar(&s, k.flag, s, "of the upstream driver; accepted and without effect")
		_ = fs.MarkHidden(k.flag)
	}
	fs.StringVar(&o.paths.HostDriverRoot, "host_driver-root", o.paths.HostDriverRoot, "alias of --nvidia-driver-root")
	_ = fs.MarkHidden("host_driver-root")
	fs.IntVarP(&o.verbosity, "v", "v", envInt(env("LOG_VERBOSITY")), "log level (env LOG_VERBOSITY)")
	return errors.Join(errs...)
}

// complete checks what no single flag can tell and works out what was left open.
func (o *options) complete() error {
	if o.nodeName == "" {
		return errors.New("--node-name (or NODE_NAME) is required")
	}
	if errs := validation.IsDNS1123Subdomain(o.nodeName); len(errs) > 0 {
		return fmt.Errorf("--node-name %q is not the name of a node: %s", o.nodeName, errs[0])
	}
	if o.healthcheckPort < -1 || o.healthcheckPort > 65535 {
		return fmt.Errorf("--healthcheck-port %d is not a port; -1 turns the service off", o.healthcheckPort)
	}
	for _, p := range []struct{ flag, path string }{
		{"cdi-root", o.paths.CDIRoot}, {"container-driver-root", o.paths.DriverRoot}, {"nvidia-driver-root", o.paths.HostDriverRoot},
		{"proc-root", o.paths.ProcRoot}, {"sys-root", o.paths.SysRoot},
		{"kubelet-registrar-directory-path", o.paths.Registry}, {"kubelet-plugins-directory-path", o.paths.Plugins},
		{"mps-socket", o.paths.MPSSocket}, {"mps-root", o.paths.MPSRoot},
	} {
		if !filepath.IsAbs(p.path) {
			return fmt.Errorf("--%s %q must be an absolute path", p.flag, p.path)
		}
	}
	if o.paths.DevRoot == "" {
		o.paths.DevRoot = "/"
		if _, err := os.Stat(filepath.Join(o.paths.DriverRoot, "dev")); err == nil {
			o.paths.DevRoot = o.paths.DriverRoot
		}
	}
	for _, k := range upstreamOnly {
		if *o.unused[k.flag] != "" {
			o.ignored = append(o.ignored, "--"+k.flag)
		}
	}
	return nil
}

func envInt(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
