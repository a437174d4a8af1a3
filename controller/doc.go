// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller is the cluster side of Cotenant: it makes DeviceClasses of
// classes and policies. One folder is one loop; controllers.go is the list of
// them.
//
// It never imports package plugin: the two meet in the API server only. It
// imports api, api/v1alpha1, mig, sharing and controller-runtime; cmd imports it.
package controller
