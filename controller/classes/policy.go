// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"fmt"
	"slices"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// PolicyReport is what there is to say about a policy.
type PolicyReport struct {
	Object     *v1alpha1.SharingPolicy
	Accepted   Verdict
	Programmed Verdict
}

// judge says what there is to say about the policies, once it is known what
// became of the classes. The offers of a policy are in the expressions of its
// classes even while it is not accepted: which GPUs it owns is decided by the
// node plugins, and a class must not lose devices that serve because of an edit
// that a plugin did not follow.
func (p Plan) judge(compiles check) []PolicyReport {
	programmed := map[string]Verdict{}
	for _, r := range p.Classes {
		programmed[r.Object.Name] = r.Programmed
	}
	var reports []PolicyReport
	for _, policy := range p.policies {
		r := PolicyReport{Object: policy, Accepted: acceptPolicy(policy, programmed, compiles)}
		r.Programmed = Verdict{Reason: NotAccepted, Message: r.Accepted.Message}
		if r.Accepted.Holds {
			r.Programmed = programPolicy(policy, programmed)
		}
		reports = append(reports, r)
	}
	return reports
}

func acceptPolicy(p *v1alpha1.SharingPolicy, programmed map[string]Verdict, compiles check) Verdict {
	if s := p.Spec.GPUSelector; s != nil {
		if err := compiles(s.CEL.Expression); err != nil {
			return Verdict{Reason: InvalidSelector, Message: fmt.Sprintf(
				"gpuSelector.cel.expression is refused, so the policy owns no GPU until it is corrected: %v", err)}
		}
	}
	var missing []string
	for _, o := range p.Spec.Offers {
		for _, name := range o.ClassNames {
			if _, known := programmed[name]; !known {
				missing = append(missing, fmt.Sprintf(
					"offer %q names GPUClass %q, which does not exist; create it, or take it out of classNames", o.Name, name))
			}
		}
	}
	if len(missing) > 0 {
		return Verdict{Reason: ClassNotFound, Message: list(missing, "; ")}
	}
	return Verdict{Holds: true, Reason: Accepted, Message: "the policy is sound and its classes exist"}
}

func programPolicy(p *v1alpha1.SharingPolicy, programmed map[string]Verdict) Verdict {
	var missing []string
	for _, name := range named(p) {
		// A class without its extended resource name has the offers even so.
		if v := programmed[name]; !v.Holds && v.Reason != ExtendedResourceDropped {
			missing = append(missing, fmt.Sprintf("GPUClass %q is not programmed: %s: %s", name, v.Reason, v.Message))
		}
	}
	if len(missing) > 0 {
		return Verdict{Reason: ClassNotProgrammed, Message: list(missing, "; ")}
	}
	return Verdict{Holds: true, Reason: Programmed, Message: "all its offers are in the DeviceClasses that they name"}
}

// named are the classes that a policy's offers name, each once.
func named(p *v1alpha1.SharingPolicy) []string {
	var names []string
	for _, o := range p.Spec.Offers {
		names = append(names, o.ClassNames...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
