// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the keys and certificates of a test cluster: one authority
// that signs every server and every client, in memory; the caller stores what it
// wants stored.
//
// It may be imported by package run only.
package pki
