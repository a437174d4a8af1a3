// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package mps is the node plugin's way to the MPS control daemons of its node: the
// client of cotenant-mps, the supervisor that runs them, and the messages that
// the two exchange.
//
// The supervisor is a DaemonSet of its own, so that an upgrade of the plugin ends
// no daemon and with it no tenant's work; and it is upgraded less often. The
// messages are therefore additive: a side ignores fields that it does not know,
// a field never changes its meaning, and what a side cannot do without is asked
// for by a higher Protocol.
//
// They are JSON over HTTP on a Unix socket that only root may open:
//
//	GET    /v1/hello                   Hello
//	GET    /v1/daemons?after=REVISION  List, at once if the revision is another one, else
//	                                   when something changes or after 30 s
//	PUT    /v1/daemons/ID?wait=MILLIS  Settings: run it; answers when it serves
//	DELETE /v1/daemons/ID              end it and remove what it had
//	PUT    /v1/pause, DELETE /v1/pause let go of the GPUs for a driver upgrade, and go on
//
// What fails is answered with a status that is no success and a Problem.
//
// It may import api and sharing; the supervisor is the folder below. Nobody but
// cmd and tests imports either.
package mps
