// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

// The types of the conditions.
const (
	// Accepted: the object is sound, by itself and beside the others.
	Accepted = "Accepted"
	// Programmed: what it asks for is in force in a DeviceClass.
	Programmed = "Programmed"
)

// The reasons of the conditions. A condition that is True has its own type as
// its reason.
const (
	// ExtendedResourceConflict: an older GPUClass has the extended resource name.
	ExtendedResourceConflict = "ExtendedResourceConflict"
	// ExtendedResourceTaken: a DeviceClass that is not ours has the name.
	ExtendedResourceTaken = "ExtendedResourceTaken"
	// ExtendedResourceDropped: the API server does not keep the name.
	ExtendedResourceDropped = "ExtendedResourceDropped"
	// ForeignClass: a DeviceClass of the class's name is there and not ours.
	ForeignClass = "ForeignClass"
	// NoOffer: no policy offers anything to the class.
	NoOffer = "NoOffer"
	// ExpressionRefused: so many policies name the class that its expression is
	// over a limit of Kubernetes.
	ExpressionRefused = "ExpressionRefused"
	// Waiting: a DeviceClass has to go first. It needs nobody.
	Waiting = "Waiting"
	// WriteFailed: the API server refused the DeviceClass. It is tried again.
	WriteFailed = "WriteFailed"
	// NotAccepted: see the condition Accepted.
	NotAccepted = "NotAccepted"
	// InvalidSelector: the policy's gpuSelector does not compile or costs too much.
	InvalidSelector = "InvalidSelector"
	// ClassNotFound: an offer names a GPUClass that does not exist.
	ClassNotFound = "ClassNotFound"
	// ClassNotProgrammed: an offer names a GPUClass that has no DeviceClass in force.
	ClassNotProgrammed = "ClassNotProgrammed"
)

// Verdict is a condition before it has a time.
type Verdict struct {
	Holds   bool
	Reason  string
	Message string
}
