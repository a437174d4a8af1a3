// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy holds the rules of the repository as tests: who may import
// whom, which rooms are pure, that these build everywhere, and what every file
// begins with.
package policy
