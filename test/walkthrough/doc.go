// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package walkthrough plays what a user of a managed Kubernetes does with a DRA
// driver for GPUs, step by step, and checks what each step must show. The demo
// prints it; an end-to-end test runs it.
package walkthrough
