// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package figure is what a benchmark says: figures with their bars, the same in
// the table and in the file.
//
// It stands apart because test/bench and test/bench/placement both make figures,
// and one imports the other. It imports nothing of ours, and only those two
// import it.
package figure
