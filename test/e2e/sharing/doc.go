// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package sharing tests GPUs that several pods use, on a cluster of its own: a real
// control plane, kubelet and containerd, the supervisor of MPS control daemons, and
// simcuda, which does in a container what a CUDA program does.
package sharing
