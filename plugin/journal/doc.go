// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps what the node plugin must not forget, in one bbolt file
// that is held open for the plugin's life.
//
//	v1/
//	  version      "2"
//	  boot         boot id under which claims and fences were written
//	  driver-load  id of the load of the NVIDIA driver they were written under
//	  suspect      set while an earlier journal was lost and nobody has yet
//	               compared claims and hardware; the value says why
//	  claims/<uid>                   state, steps, facts, holds, grant (JSON)
//	  holds/<slot>/<uid>/<share>     who holds what, the index of the holds above
//	  names/<pci address>            device name and last known facts (JSON)
//	  slots/<pci address>            what is published of a GPU, retiring or not (JSON)
//	  fences/<pci address>           GPUs set apart, and why (JSON)
//	  quarantine/<uid>               records that could not be read, as found
//
// Update this when the structure changes.
//
// Invariants, proven by [Journal.Check]: a hold exists if and only if the record
// of its claim names it; both are written in one transaction. Stored structs are
// this package's own: no Kubernetes, CDI or NVML type is in them, unknown fields
// are ignored, and no checksum is taken over what was re-encoded.
//
// A damaged bbolt file does not return an error, it kills the process that maps
// it. Hence [Open] has the file checked by a child process first, and sets aside
// one that fails. A file of a newer layout is refused untouched.
//
// It may import api, mig, sharing and bbolt. Nobody but cmd and tests imports it.
package journal
