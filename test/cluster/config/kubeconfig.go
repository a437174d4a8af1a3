// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
)

// Kubeconfig returns a kubeconfig file for the user whose certificate and key
// are given. It is JSON, which every reader of kubeconfig files takes.
func Kubeconfig(server string, authority, certificate, key []byte) ([]byte, error) {
	type named map[string]any
	file := map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": "default",
		"contexts":        []named{{"name": "default", "context": named{"cluster": "default", "user": "default"}}},
		"clusters":        []named{{"name": "default", "cluster": named{"server": server, "certificate-authority-data": authority}}},
		"users":           []named{{"name": "default", "user": named{"client-certificate-data": certificate, "client-key-data": key}}},
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig for %s: %w", server, err)
	}
	return append(text, '\n'), nil
}
