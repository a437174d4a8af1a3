// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package readonly is NVML without the functions that change anything.
//
// What is run on somebody's GPUs to learn about them must not be able to do more.
// So the library and its handles are behind types of this package, which have
// getters alone and give out nothing that has more: whoever has a Library cannot
// get at an nvml.Interface or an nvml.Device again.
//
// It imports go-nvml and nothing of ours; test/hardware imports it.
package readonly
