// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package placement measures what the order in which partitions are offered is
// worth, and what an allocation costs.
//
// The scheduler takes the first device that suits. So the order of the devices
// in a node's ResourceSlices decides where partitions land, and with that what
// still fits afterwards. Claims come and go on one simulated node of eight GPUs,
// whose slices are once those that sharing publishes and once the same devices in
// the order of their names, as the upstream driver publishes them.
//
// First the upstream allocator, used as a library as the scheduler uses it, places
// some thousand claims on both, and each of its decisions must be the first
// published device that fits. That model of it then places the millions that it
// takes to tell a point of acceptance from chance; the allocator would need an
// hour for them.
//
// A third contender asks for no order: before every allocation it looks at all
// GPUs and all starts and takes the placement that keeps the most of the larger
// placements possible. That is more than a fixed order can do, and shows what
// there is to be had.
//
// Time is that of the simulation, the claims of a run are made from its seed, and
// all contenders see the same claims: these figures are the same each time. How
// claims come and go (pace) was chosen by the order of names alone; two other paces
// are shown beside it. Only the cost of an allocation is measured, by turns on both
// layouts.
//
// It may import everything but cmd; nothing but test/bench imports it.
package placement
