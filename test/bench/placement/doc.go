// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package placement measures what the order in which partitions are offered is
// worth, and what an allocation costs.
//
// The scheduler takes the first device that suits. So the order of the devices
// in a node's ResourceSlices decides where partitions land, and with that what
// still fits afterwards. Claims come and go on one simulated node of eight GPUs;
// each time the upstream allocator, used as a library as the scheduler uses it,
// picks a device: once from the slices as sharing publishes them, once from the
// same devices in the order of their names, as the upstream driver publishes
// them. A third run asks no allocator: before every allocation it looks at all
// GPUs and all starts and takes the placement that keeps the most of the larger
// placements possible. That is more than any fixed order can do, and so a bound.
//
// Time is that of the simulation, the claims of a run are made from its seed, and
// all three layouts see the same claims: the figures are the same on every
// machine. Only the cost of an allocation is measured, by turns on both layouts.
//
// It may import everything but cmd; nothing but test/bench imports it.
package placement
