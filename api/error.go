// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
)

// Reason says how the receiver of an error should react. The same word is used
// in errors, events, conditions and metrics.
type Reason string

const (
	// Held: somebody else has it. Retrying helps once they let go.
	Held Reason = "Held"
	// Invalid: the request can never succeed as it is written. Its author acts.
	Invalid Reason = "Invalid"
	// NotFound: the device is not, or no longer, on this node.
	NotFound Reason = "NotFound"
	// Lost: the hardware does not answer. The operator acts.
	Lost Reason = "Lost"
	// Fenced: the GPU is set apart until it is known what is on it.
	Fenced Reason = "Fenced"
	// InUse: the hardware refuses a change because something uses it. Retrying
	// helps once that has let go.
	InUse Reason = "InUse"
	// NeedsReset: the change takes effect at a reset of the GPU, which is the
	// operator's to do.
	NeedsReset Reason = "NeedsReset"
	// Unsupported: this hardware, or its driver, has no such thing.
	Unsupported Reason = "Unsupported"
	// Unavailable: something that this node needs for it does not answer now.
	// Retrying helps once it does.
	Unavailable Reason = "Unavailable"
	// Pending: it is under way. Asking again joins it.
	Pending Reason = "Pending"
	// Canceled: the claim was released while it was being prepared.
	Canceled Reason = "Canceled"
	// Internal: a bug of ours, or a record that contradicts itself.
	Internal Reason = "Internal"
)

// Error is a failure with the reaction it asks for. Its text names the value
// that is wrong and the next thing to do.
type Error struct {
	Reason  Reason
	Message string
	Err     error
}

// Errorf returns an *Error; %w works as in fmt.Errorf.
func Errorf(reason Reason, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Reason: reason, Message: err.Error(), Err: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of the first *Error in the chain, or "" when
// there is none, which means: an effect failed and retrying is right.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}
