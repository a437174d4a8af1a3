// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

import "encoding/json"

// What stands in the JSON. A pointer tells what is missing, or null, from what is
// empty.

type gpuConfig struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Sharing    *gpuSharing `json:"sharing"`
}

type migConfig struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Sharing    *migSharing `json:"sharing"`
}

type gpuSharing struct {
	Strategy    string       `json:"strategy"`
	TimeSlicing *timeSlicing `json:"timeSlicingConfig"`
	MPS         *mpsConfig   `json:"mpsConfig"`
}

// migSharing has no interval: it would reach other tenants of the same GPU.
type migSharing struct {
	Strategy string     `json:"strategy"`
	MPS      *mpsConfig `json:"mpsConfig"`
}

type timeSlicing struct {
	Interval *string `json:"interval"`
}

// mpsConfig has its amounts undecoded, so that a message can show them as they
// were written.
type mpsConfig struct {
	ActiveThreads *int                       `json:"defaultActiveThreadPercentage"`
	Memory        json.RawMessage            `json:"defaultPinnedDeviceMemoryLimit"`
	PerDevice     map[string]json.RawMessage `json:"defaultPerDevicePinnedMemoryLimit"`
	MultiUser     *bool                      `json:"multiUser"`
}
