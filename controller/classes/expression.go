// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// allProfiles in the profiles of an offer stands for every profile.
const allProfiles = "*"

// given is an offer that names a class, with the policy that it is from.
type given struct {
	policy string
	offer  v1alpha1.Offer
}

// name is how an offer is written for people.
func (g given) name() string { return g.policy + "/" + g.offer.Name }

// expression returns the CEL expression of a class that has these offers. The
// same offers give the same text, in whichever order they come.
func expression(offers []given) string {
	policies := map[string][]string{}
	for _, g := range offers {
		s := shape(g.offer)
		policies[s] = append(policies[s], g.policy)
	}
	owner := own(api.AttributePolicy, api.DefaultPolicy)
	var terms []string
	for s, names := range policies {
		terms = append(terms, s+" && "+in(owner, names))
	}
	slices.Sort(terms)
	if len(terms) == 0 {
		// The name is taken and its pods wait; nothing is selected.
		terms = []string{"false"}
	}
	return is("device.driver", api.DriverName) + " && (" + strings.Join(terms, " || ") + ")"
}

// shape is the part of an expression that tells what a device is. The scheduler
// asks it of every device on a node until one suits, so what the fewest devices
// pass comes first.
func shape(o v1alpha1.Offer) string {
	kind := attribute(api.DriverName, "type", "")
	switch {
	case o.Sharing != nil:
		return is(own(api.AttributeOffer, ""), o.Name) +
			" && " + is(own(api.AttributeMode, ""), string(o.Sharing.Mode)) +
			" && " + is(kind, api.TypeShare)
	case o.Device.Type == v1alpha1.DeviceMIG:
		mig := is(kind, api.TypeMIG)
		if m := o.Device.MIG; m == nil || m.Source == v1alpha1.MIGExisting || slices.Contains(m.Profiles, allProfiles) {
			return mig
		}
		return in(attribute(api.DriverName, "profile", ""), o.Device.MIG.Profiles) + " && " + mig
	default:
		return is(kind, api.TypeGPU)
	}
}

// own reads an attribute of our own domain, by its full name.
func own(name, missing string) string {
	return attribute(api.Group, strings.TrimPrefix(name, api.Group+"/"), missing)
}

// attribute reads an attribute; a device that lacks it has the value missing.
func attribute(domain, id, missing string) string {
	return fmt.Sprintf("device.attributes[%s].?%s.orValue(%s)", quote(domain), id, quote(missing))
}

// is compares with one value. == would do the same with three more allocations on
// every device that the scheduler looks at (cel-go 0.29.2); a list of constants
// becomes a set once, when the expression is compiled.
func is(value, want string) string { return in(value, []string{want}) }

func in(value string, want []string) string {
	names := slices.Compact(slices.Sorted(slices.Values(want)))
	for i, n := range names {
		names[i] = quote(n)
	}
	return value + " in [" + strings.Join(names, ",") + "]"
}

// quote returns s as a CEL string literal: the only way by which anything that
// somebody wrote gets into an expression. Bytes that are no UTF-8 become U+FFFD.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString(`\U` + pad(r, 8))
		default:
			b.WriteString(`\u` + pad(r, 4))
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func pad(r rune, width int) string {
	hex := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", width-len(hex)) + hex
}
