// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvml is the node plugin's view of GPUs through NVIDIA's management
// library: one session for the plugin's life, opened anew when the driver was
// loaded anew.
//
// NVML calls are serialised; each is short. What one GPU answers wrongly costs
// that GPU only. Functions that older drivers lack are looked up before they are
// called: calling a missing one ends the process.
//
// It may import api, mig, sharing, go-nvml, go-nvlib and the Kubernetes helper
// that reads PCI facts from sysfs. Nobody but cmd and tests imports it.
package nvml
