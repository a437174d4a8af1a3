// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvidia is resource.nvidia.com/v1beta1 as users write it: the opaque
// configuration of the upstream NVIDIA DRA driver (kubernetes-sigs/dra-driver-nvidia-gpu)
// that stands in claims and classes, and keeps its meaning here.
//
// What may stand in a configuration comes from tenants. Decode is therefore
// total: whatever the bytes, it returns a value that is whole and valid, or an
// *api.Error with the reason Invalid. It never panics and does no more work than
// the bytes are long: a number such as 1e999999999 is refused before anything
// multiplies it out.
//
// Field names, defaults, limits and the literal error texts are upstream's. Two of
// its faults are not: an empty timeSlicingConfig means the default interval
// instead of a crash, and settings of the strategy that was not chosen are
// refused wherever they are read.
//
// The package is pure. It may import api and apimachinery's resource.Quantity.
package nvidia
