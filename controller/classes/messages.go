// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Messages name the other object and the next thing to do.

// mentioned is how many things a message lists before it counts the rest.
const mentioned = 8

func foreign(d *resourceapi.DeviceClass) Verdict {
	return Verdict{Reason: ForeignClass, Message: fmt.Sprintf(
		"DeviceClass %q was not made by Cotenant and is left as it is; delete it, or uninstall what made it, and Cotenant makes its own", d.Name)}
}

func conflict(class *v1alpha1.GPUClass, holder string) Verdict {
	return Verdict{Reason: ExtendedResourceConflict, Message: fmt.Sprintf(
		"GPUClass %q is older and has the extended resource %s; delete one of the two, or make this one again with another extendedResourceName",
		holder, class.Spec.ExtendedResourceName)}
}

// rivalry is said of a class whose extended resource name another DeviceClass has.
func rivalry(other *resourceapi.DeviceClass, class *v1alpha1.GPUClass) Verdict {
	resource := class.Spec.ExtendedResourceName
	if ours(other) {
		return Verdict{Reason: Waiting, Message: fmt.Sprintf(
			"DeviceClass %q, which is about to go, still has the extended resource %s", other.Name, resource)}
	}
	return Verdict{Reason: ExtendedResourceTaken, Message: fmt.Sprintf(
		"DeviceClass %q, which was not made by Cotenant, has the extended resource %s, and the scheduler uses one of them only; delete it, or take its extendedResourceName away",
		other.Name, resource)}
}

func drop(class *v1alpha1.GPUClass) Verdict {
	return Verdict{Reason: ExtendedResourceDropped, Message: fmt.Sprintf(
		"the API server does not keep the extended resource name %s (its feature gate DRAExtendedResource is off, as it is by default before Kubernetes 1.36); "+
			"claims of the class work, and pods that ask for %s wait: use claims, or turn the gate on",
		class.Spec.ExtendedResourceName, class.Spec.ExtendedResourceName)}
}

func going(d *resourceapi.DeviceClass) Verdict {
	return Verdict{Reason: Waiting, Message: fmt.Sprintf(
		"DeviceClass %q is being deleted and is made again when it is gone; its finalizers are %q", d.Name, d.Finalizers)}
}

func noOffer(class *v1alpha1.GPUClass) Verdict {
	return Verdict{Reason: NoOffer, Message: fmt.Sprintf(
		"no SharingPolicy offers anything to this class, so its DeviceClass selects nothing; add %q to classNames of an offer", class.Name)}
}

func refused(offers []given, have *resourceapi.DeviceClass, err error) Verdict {
	now := "there is no DeviceClass"
	if have != nil {
		now = "the DeviceClass stays as it was"
	}
	return Verdict{Reason: ExpressionRefused, Message: fmt.Sprintf(
		"the CEL expression made from %d offers is over a limit of Kubernetes: %v; %s; divide the policies between two classes", len(offers), err, now)}
}

func inForce(class *v1alpha1.GPUClass, offers []given) Verdict {
	var names []string
	for _, g := range offers {
		names = append(names, g.name())
	}
	return Verdict{Holds: true, Reason: Programmed, Message: fmt.Sprintf(
		"DeviceClass %q gives %s", class.Name, list(names, ", "))}
}

// list joins the first few and counts the rest.
func list(items []string, separator string) string {
	if len(items) <= mentioned {
		return strings.Join(items, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(items[:mentioned], separator), separator, len(items)-mentioned)
}
