// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

type attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute

func text(s string) resourceapi.DeviceAttribute {
	return resourceapi.DeviceAttribute{StringValue: ptr.To(s)}
}

// gpu is a whole GPU as the node plugin publishes it.
func gpu(more attributes) dracel.Device {
	a := attributes{
		"type": text("gpu"), "uuid": text("GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c"), "productName": text("NVIDIA H100 80GB HBM3"),
		"architecture": text("Hopper"), "driverVersion": {VersionValue: ptr.To("595.58.3")}, api.AttributePolicy: text("default"),
	}
	maps.Copy(a, more)
	return dracel.Device{Driver: api.DriverName, Attributes: a}
}

func mig(profile, policy string) dracel.Device {
	return gpu(attributes{"type": text("mig"), "profile": text(profile), api.AttributePolicy: text(policy)})
}

func share(mode, offer, policy string) dracel.Device {
	return gpu(attributes{"type": text("gpu-share"), "cotenant.dev/mode": text(mode), "cotenant.dev/offer": text(offer), api.AttributePolicy: text(policy)})
}

// devices are what a cluster may have; no expression may fail on any of them.
func devices() map[string]dracel.Device {
	return map[string]dracel.Device{
		"gpu":               gpu(nil),
		"gpu of teams":      gpu(attributes{api.AttributePolicy: text("teams")}),
		"upstream gpu":      {Driver: api.DriverName, Attributes: attributes{"type": text("gpu")}},
		"upstream mig":      {Driver: api.DriverName, Attributes: attributes{"type": text("mig"), "profile": text("1g.10gb")}},
		"upstream vfio":     {Driver: api.DriverName, Attributes: attributes{"type": text("vfio")}},
		"1g of default":     mig("1g.10gb", "default"),
		"1g of teams":       mig("1g.10gb", "teams"),
		"3g of teams":       mig("3g.40gb", "teams"),
		"mps of teams":      share("MPS", "quarter", "teams"),
		"ts of teams":       share("TimeSlicing", "quarter", "teams"),
		"mps half of teams": share("MPS", "half", "teams"),
		"no attributes":     {Driver: api.DriverName},
		"odd types": {Driver: api.DriverName, Attributes: attributes{
			"type": {IntValue: ptr.To[int64](1)}, "profile": {BoolValue: ptr.To(true)}, api.AttributePolicy: {VersionValue: ptr.To("1.0.0")}}},
		"another driver":          {Driver: "net.example.com", Attributes: attributes{"type": text("gpu")}},
		"our names, their driver": {Driver: "net.example.com", Attributes: attributes{"gpu.nvidia.com/type": text("gpu"), api.AttributePolicy: text("default")}},
	}
}

// matches evaluates as the scheduler does.
func matches(t *testing.T, expression string, d dracel.Device) bool {
	t.Helper()
	if err := Compile(expression); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	r := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true}).CompileCELExpression(expression, dracel.Options{})
	ok, _, err := r.DeviceMatches(t.Context(), d)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return ok
}

func whole(policy string) given {
	return given{policy: policy, offer: v1alpha1.Offer{Name: "whole", Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}}}
}

func partitions(policy string, source v1alpha1.MIGSource, profiles ...string) given {
	return given{policy: policy, offer: v1alpha1.Offer{Name: "slices", Device: v1alpha1.OfferDevice{
		Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: source, Profiles: profiles}}}}
}

func shares(policy, offer string, mode v1alpha1.SharingMode) given {
	return given{policy: policy, offer: v1alpha1.Offer{Name: offer, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU},
		Sharing: &v1alpha1.OfferSharing{Mode: mode, Shares: 4}}}
}

func TestExpressionSelects(t *testing.T) {
	cases := map[string]struct {
		offers []given
		want   []string
	}{
		"nothing":                    {nil, nil},
		"whole GPUs of default":      {[]given{whole("default")}, []string{"gpu", "upstream gpu"}},
		"whole GPUs of teams":        {[]given{whole("teams")}, []string{"gpu of teams"}},
		"whole GPUs of both":         {[]given{whole("teams"), whole("default")}, []string{"gpu", "gpu of teams", "upstream gpu"}},
		"existing partitions":        {[]given{partitions("default", v1alpha1.MIGExisting)}, []string{"1g of default", "upstream mig"}},
		"one profile":                {[]given{partitions("teams", v1alpha1.MIGOnDemand, "1g.10gb")}, []string{"1g of teams"}},
		"two profiles":               {[]given{partitions("teams", v1alpha1.MIGOnDemand, "1g.10gb", "3g.40gb")}, []string{"1g of teams", "3g of teams"}},
		"every profile":              {[]given{partitions("teams", v1alpha1.MIGOnDemand, "*")}, []string{"1g of teams", "3g of teams"}},
		"shares of one offer":        {[]given{shares("teams", "quarter", v1alpha1.MPS)}, []string{"mps of teams"}},
		"shares of another mode":     {[]given{shares("teams", "quarter", v1alpha1.TimeSlicing)}, []string{"ts of teams"}},
		"whole GPUs or shares":       {[]given{whole("default"), shares("teams", "half", v1alpha1.MPS)}, []string{"gpu", "mps half of teams", "upstream gpu"}},
		"a policy that nobody knows": {[]given{whole("gone")}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range sortedKeys(devices()) {
				if matches(t, expression(c.offers), devices()[d]) {
					got = append(got, d)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("selected devices (-want +got):\n%s", diff)
			}
		})
	}
}

// The text is the same whatever the order, or every pass would write it.
func TestExpressionIsStable(t *testing.T) {
	offers := []given{whole("b"), whole("a"), partitions("a", v1alpha1.MIGOnDemand, "3g.40gb", "1g.10gb"), shares("c", "quarter", v1alpha1.MPS)}
	want := expression(offers)
	rapid.Check(t, func(t *rapid.T) {
		if got := expression(rapid.Permutation(offers).Draw(t, "order")); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
	if n := strings.Count(expression([]given{whole("a"), whole("b"), whole("a")}), "?type"); n != 1 {
		t.Errorf("policies that offer one shape have %d terms, not 1", n)
	}
}

// The driver is first, and then what the fewest devices pass: the scheduler asks
// every device of a full node.
func TestExpressionAsksFirstWhatTheFewestDevicesPass(t *testing.T) {
	cases := map[string]struct {
		offer given
		want  []string
	}{
		"whole GPUs":     {whole("p"), []string{"device.driver", "?type", "?policy"}},
		"every profile":  {partitions("p", v1alpha1.MIGOnDemand, "*"), []string{"device.driver", "?type", "?policy"}},
		"named profiles": {partitions("p", v1alpha1.MIGOnDemand, "1g.10gb"), []string{"device.driver", "?profile", "?type", "?policy"}},
		"shares":         {shares("p", "quarter", v1alpha1.MPS), []string{"device.driver", "?offer", "?mode", "?type", "?policy"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(expression([]given{c.offer}), " && ")
			if len(got) != len(c.want) {
				t.Fatalf("%d terms, want %d: %v", len(got), len(c.want), got)
			}
			for i, w := range c.want {
				if !strings.Contains(got[i], w) {
					t.Errorf("term %d is %s, want it to read %s", i, got[i], w)
				}
			}
		})
	}
}

// Whatever somebody writes stays a string.
func TestQuote(t *testing.T) {
	check := func(fatalf func(string, ...any), s string) {
		r := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true}).CompileCELExpression("device.driver == "+quote(s), dracel.Options{})
		if r.Error != nil {
			fatalf("%q is quoted as %s: %v", s, quote(s), r.Error)
		}
		ok, _, err := r.DeviceMatches(t.Context(), dracel.Device{Driver: strings.ToValidUTF8(s, "\uFFFD")})
		if err != nil || !ok {
			fatalf("%q is quoted as %s: equal %v, error %v", s, quote(s), ok, err)
		}
	}
	for _, s := range []string{"", "'", `\`, `\'`, "'] || true || ['", "a\nb", "\x00\x7f", "€", "\u2028", "\U000E0001", `""`, "\\u0041"} {
		check(t.Fatalf, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t.Fatalf, rapid.String().Draw(t, "s")) })
}

func TestHostileProfileSelectsNothing(t *testing.T) {
	e := expression([]given{partitions("teams", v1alpha1.MIGOnDemand, "'] || true || '' in ['")})
	for name, d := range devices() {
		if matches(t, e, d) {
			t.Errorf("%s is selected by %s", name, e)
		}
	}
}
