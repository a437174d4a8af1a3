// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command image makes a container image from a YAML file: the files named in
// it, the shared libraries they need, and nothing else. There is no base image,
// no registry and no container engine.
//
// Invariant: the image depends on the content of the files alone. Building twice
// gives the same digest, on any machine that has the same files: entries are
// sorted, owned by root and dated 1970, and no name, time or path of the machine
// enters.
//
//	image --file deploy/images/plugin.yaml --source out/bin --output plugin.tar
package main
