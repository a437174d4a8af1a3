// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the product costs and what its placement is worth,
// and holds the figures against their bars.
//
// First it compares the order in which partitions are published with others, and
// the scheduler's time for one claim with that on the upstream driver's slices: see
// the package placement. The rest is about the node plugin, seen from outside.
//
// It runs the production binary out/bin/cotenant-plugin, copied as out of an
// image, on simulated GPUs and in front of a real API server, and plays the two
// that a plugin meets: the scheduler, which writes allocations into claims, and
// the kubelet, which calls the plugin's socket. Nothing reaches into the plugin;
// what it says it did is looked up in its journal and its CDI directory.
//
// The machine it runs on is taken to be noisy, so whatever is compared is
// measured side by side: one plugin for each number of claims already prepared,
// each on a node of its own, and a prepare on one is followed within
// milliseconds by a prepare on the next and by the floor. The floor is what any
// plugin has to pay that reads the claim and remembers what it does: one GET of
// the claim and two small writes that reach the disk.
//
// NVML costs nothing on a simulated GPU, so these are the plugin's own costs.
// Resident memory includes the simulated library, which is a Go program too.
//
// It writes tables to stdout, the last of which has every figure with its bar, and
// the figures as JSON to the file of --out. It ends with exit code 1 when a bar is
// missed or something went wrong. It may import api, test/lab, test/sim and what is
// below it; nothing imports it.
package main
