// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// document returns the object of the name from testdata, changed by replacing
// text in it.
func document(t *testing.T, name string, replace ...string) object {
	t.Helper()
	raw, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for doc := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		o := parse(t, doc)
		if o["metadata"].(object)["name"] != name {
			continue
		}
		text := string(doc)
		for i := 0; i < len(replace); i += 2 {
			if !strings.Contains(text, replace[i]) {
				t.Fatalf("%q is not in %s", replace[i], name)
			}
			text = strings.Replace(text, replace[i], replace[i+1], 1)
		}
		return parse(t, []byte(text))
	}
	t.Fatalf("no object is called %s", name)
	return nil
}

func TestObjectsAreAccepted(t *testing.T) {
	all := kinds(t)
	for _, name := range []string{"gpu.nvidia.com", "serve.inference", "default", "inference"} {
		o := document(t, name)
		if errs := all[o["kind"].(string)].refuse(t, o, nil); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs.ToAggregate())
		}
		if errs := all[o["kind"].(string)].refuse(t, o, document(t, name)); len(errs) > 0 {
			t.Errorf("%s, written again: %v", name, errs.ToAggregate())
		}
	}
}

// Each case makes one thing of a sound object wrong.
func TestRefusedAtCreation(t *testing.T) {
	long := strings.Repeat("x", 64)
	cases := map[string]struct {
		object  string
		replace []string
		field   string
		says    string
	}{
		"class: unknown field":            {"gpu.nvidia.com", []string{"spec: {", "spec: {colour: green, "}, "spec.colour", "unknown"},
		"class: no spec":                  {"gpu.nvidia.com", []string{"spec:", "status: {} #"}, "spec", "Required"},
		"class: no access":                {"gpu.nvidia.com", []string{", access: {namespaceSelector: {}}", ""}, "spec.access", "Required"},
		"class: no selector":              {"gpu.nvidia.com", []string{"namespaceSelector: {}", ""}, "spec.access.namespaceSelector", "Required"},
		"class: name too long":            {"gpu.nvidia.com", []string{"name: gpu.nvidia.com", "name: " + long}, "", "at most 63 characters"},
		"class: reserved name":            {"gpu.nvidia.com", []string{"nvidia.com/gpu", "deviceclass.resource.kubernetes.io/x"}, "spec.extendedResourceName", "reserved"},
		"class: name without a domain":    {"gpu.nvidia.com", []string{"nvidia.com/gpu", "gpus"}, "spec.extendedResourceName", "domain/name"},
		"class: short name":               {"gpu.nvidia.com", []string{"nvidia.com/gpu", "g"}, "spec.extendedResourceName", "at least 3"},
		"class: negative limit":           {"serve.inference", []string{"perNamespaceLimit: 4", "perNamespaceLimit: -1"}, "spec.perNamespaceLimit", "greater than or equal to 0"},
		"class: limit is no number":       {"serve.inference", []string{"perNamespaceLimit: 4", "perNamespaceLimit: four"}, "spec.perNamespaceLimit", "integer"},
		"class: no device a claim":        {"serve.inference", []string{"maxDevicesPerClaim: 2", "maxDevicesPerClaim: 0"}, "spec.maxDevicesPerClaim", "greater than or equal to 1"},
		"class: 33 devices a claim":       {"serve.inference", []string{"maxDevicesPerClaim: 2", "maxDevicesPerClaim: 33"}, "spec.maxDevicesPerClaim", "less than or equal to 32"},
		"class: In without values":        {"serve.inference", []string{", values: [test, production]", ""}, "spec.access.namespaceSelector.matchExpressions[0].values", "required for In"},
		"class: values for DoesNotExist":  {"serve.inference", []string{"operator: DoesNotExist", "operator: DoesNotExist, values: [x]"}, "spec.access.namespaceSelector.matchExpressions[1].values", "forbidden for Exists"},
		"class: unknown operator":         {"serve.inference", []string{"operator: In", "operator: Equals"}, "spec.access.namespaceSelector.matchExpressions[0].operator", "supported values"},
		"class: label too long":           {"serve.inference", []string{"team: inference", "team: " + long}, "spec.access.namespaceSelector.matchLabels.team", "63"},
		"policy: unknown field":           {"default", []string{"nodeSelector: {}", "nodeSelector: {}\n  tenants: []"}, "spec.tenants", "unknown"},
		"policy: no nodeSelector":         {"default", []string{"nodeSelector: {}", ""}, "spec.nodeSelector", "Required"},
		"policy: name too long":           {"default", []string{"name: default", "name: " + long}, "", "at most 63 characters"},
		"policy: priority too high":       {"default", []string{"-1000", "1000001"}, "spec.priority", "less than or equal to 1000000"},
		"policy: empty selector":          {"inference", []string{"gpuSelector: {cel: {expression: \"device.attributes['gpu.nvidia.com'].?architecture.orValue('') == 'Hopper'\"}}", "gpuSelector: {}"}, "spec.gpuSelector.cel", "Required"},
		"policy: empty expression":        {"inference", []string{"\"device.attributes['gpu.nvidia.com'].?architecture.orValue('') == 'Hopper'\"", "''"}, "spec.gpuSelector.cel.expression", "at least 1"},
		"offers: one name twice":          {"default", []string{"name: mig,", "name: whole,"}, "spec.offers[1]", "Duplicate"},
		"offers: bad name":                {"default", []string{"name: mig,", "name: Mig-1,"}, "spec.offers[1].name", "should match"},
		"offers: name too long":           {"default", []string{"name: mig,", "name: abcdefghijklmnopq,"}, "spec.offers[1].name", "16"},
		"offers: no name":                 {"default", []string{"name: mig,", ""}, "spec.offers[1].name", "Required"},
		"offers: no class":                {"default", []string{"classNames: [mig.nvidia.com]", "classNames: []"}, "spec.offers[1].classNames", "at least 1"},
		"offers: no classNames":           {"default", []string{"classNames: [mig.nvidia.com], ", ""}, "spec.offers[1].classNames", "Required"},
		"offers: one class twice":         {"inference", []string{"[mig.nvidia.com, small]", "[small, small]"}, "spec.offers[1].classNames[1]", "Duplicate"},
		"offers: five classes":            {"inference", []string{"[mig.nvidia.com, small]", "[a, b, c, d, e]"}, "spec.offers[1].classNames", "at most 4"},
		"offers: class name too long":     {"inference", []string{"[mig.nvidia.com, small]", "[" + long + "]"}, "spec.offers[1].classNames[0]", "63"},
		"device: no device":               {"default", []string{", device: {type: GPU}", ""}, "spec.offers[0].device", "Required"},
		"device: unknown type":            {"default", []string{"type: GPU", "type: TPU"}, "spec.offers[0].device.type", "supported values"},
		"device: MIG without mig":         {"default", []string{"type: GPU", "type: MIG"}, "spec.offers[0].device.mig", "required for type MIG"},
		"device: GPU with mig":            {"default", []string{"type: MIG", "type: GPU"}, "spec.offers[1].device.mig", "forbidden otherwise"},
		"device: OnDemand, no profile":    {"default", []string{"source: Existing", "source: OnDemand"}, "spec.offers[1].device.mig.profiles", "required for OnDemand"},
		"device: Existing, with profiles": {"inference", []string{"source: OnDemand", "source: Existing"}, "spec.offers[1].device.mig.profiles", "forbidden for Existing"},
		"device: unknown source":          {"default", []string{"source: Existing", "source: Somewhere"}, "spec.offers[1].device.mig.source", "supported values"},
		"device: one profile twice":       {"inference", []string{"[1g.10gb]", "[1g.10gb, 1g.10gb]"}, "spec.offers[1].device.mig.profiles[1]", "Duplicate"},
		"sharing: of a partition":         {"inference", []string{"profiles: [1g.10gb]}}", "profiles: [1g.10gb]}}, sharing: {mode: MPS, shares: 2}"}, "spec.offers[1].sharing", "of whole GPUs"},
		"sharing: one share":              {"inference", []string{"shares: 8", "shares: 1"}, "spec.offers[3].sharing.shares", "greater than or equal to 2"},
		"sharing: 49 shares":              {"inference", []string{"shares: 8", "shares: 49"}, "spec.offers[3].sharing.shares", "less than or equal to 48"},
		"sharing: no mode":                {"inference", []string{"mode: MPS, ", ""}, "spec.offers[4].sharing.mode", "Required"},
		"sharing: mps of TimeSlicing":     {"inference", []string{"mode: MPS", "mode: TimeSlicing"}, "spec.offers[4].sharing.mps", "only with mode MPS"},
		"sharing: timeSlicing of MPS":     {"inference", []string{"mode: TimeSlicing", "mode: MPS"}, "spec.offers[3].sharing.timeSlicing", "only with mode TimeSlicing"},
		"sharing: unknown interval":       {"inference", []string{"interval: Short", "interval: Eternal"}, "spec.offers[3].sharing.timeSlicing.interval", "supported values"},
		"sharing: memory in bytes":        {"inference", []string{"18Gi", "19327352832"}, "spec.offers[4].sharing.memoryPerShare", "string"},
		"sharing: memory in GB":           {"inference", []string{"18Gi", "18G"}, "spec.offers[4].sharing.memoryPerShare", "should match"},
		"sharing: half a Gi":              {"inference", []string{"18Gi", "0.5Gi"}, "spec.offers[4].sharing.memoryPerShare", "should match"},
		"sharing: no memory":              {"inference", []string{"18Gi", "0Gi"}, "spec.offers[4].sharing.memoryPerShare", "should match"},
		"sharing: 101 percent":            {"inference", []string{"activeThreadPercentage: 25", "activeThreadPercentage: 101"}, "spec.offers[4].sharing.mps.activeThreadPercentage", "less than or equal to 100"},
		"requires: unknown":               {"inference", []string{"[MemoryLimit,", "[Silence,"}, "spec.offers[4].requires[0]", "supported values"},
		"requires: FaultIsolation shared": {"inference", []string{"[MemoryLimit,", "[FaultIsolation,"}, "spec.offers[4].requires", "share faults"},
	}
	all := kinds(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := document(t, c.object, c.replace...)
			expect(t, all[o["kind"].(string)].refuse(t, o, nil), c.field, c.says)
		})
	}
}

// expect checks that an error names the field and says why. A field that is not
// one of the schema, as a name, has the path "".
func expect(t *testing.T, errs field.ErrorList, path, says string) {
	t.Helper()
	for _, err := range errs {
		if got := strings.TrimPrefix(err.Field, "<nil>"); got == path && strings.Contains(err.Error(), says) {
			return
		}
	}
	t.Errorf("no error about %q says %q; got: %v", path, says, errs.ToAggregate())
}

func TestRefusedAtUpdate(t *testing.T) {
	const path = "spec.extendedResourceName"
	with := func(t *testing.T) object { return document(t, "gpu.nvidia.com") }
	without := func(t *testing.T) object {
		return document(t, "gpu.nvidia.com", "extendedResourceName: nvidia.com/gpu, ", "")
	}
	other := func(t *testing.T) object { return document(t, "gpu.nvidia.com", "nvidia.com/gpu", "nvidia.com/other") }
	cases := map[string]struct{ old, changed func(*testing.T) object }{
		"changed": {with, other},
		"added":   {without, with},
		"removed": {with, without},
	}
	k := kinds(t)["GPUClass"]
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if errs := k.refuse(t, c.changed(t), nil); len(errs) > 0 {
				t.Fatalf("it is refused by itself: %v", errs.ToAggregate())
			}
			expect(t, k.refuse(t, c.changed(t), c.old(t)), path, "immutable")
		})
	}
}

func TestDefaultsOfTheSchema(t *testing.T) {
	all := kinds(t)
	class := document(t, "gpu.nvidia.com")
	policy := document(t, "inference", "priority: 10", "", "interval: Short", "")
	if errs := append(all["GPUClass"].refuse(t, class, nil), all["SharingPolicy"].refuse(t, policy, nil)...); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	spec := policy["spec"].(object)
	sharing := spec["offers"].([]any)[3].(object)["sharing"].(object)
	for name, c := range map[string]struct{ got, want any }{
		"maxDevicesPerClaim": {class["spec"].(object)["maxDevicesPerClaim"], int64(8)},
		"priority":           {spec["priority"], int64(0)},
		"interval":           {sharing["timeSlicing"].(object)["interval"], "Default"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
}
