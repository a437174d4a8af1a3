// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package config

import "fmt"

// Addresses inside a cluster's network namespace. All but the pods' are on its
// loopback interface, so nothing outside the namespace sees them and every
// cluster can have the same.
const (
	ServiceRange   = "10.96.0.0/16"
	ServiceIP      = "10.96.0.1" // the service `kubernetes`
	DNSIP          = "10.96.0.10"
	ControlPlaneIP = "10.88.255.1"
	// APIPort is the API server's: the port of its service, so that pods reach it
	// without a kube-proxy.
	APIPort = 443

	// MaxNodes keeps a node's addresses inside 10.88.255.0/24.
	MaxNodes = 200
)

// NodeIP is the address of the node with the index, 1 to MaxNodes.
func NodeIP(index int) string { return fmt.Sprintf("10.88.255.%d", index+10) }

// PodRange is the range of addresses for the pods of the node with the index.
func PodRange(index int) string { return fmt.Sprintf("10.89.%d.0/24", index) }
