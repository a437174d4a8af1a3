// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// api is the little that the orchestrator asks the API server. A whole client
// library would make this module as large as what it starts.
type api struct {
	server string
	client *http.Client
}

// dialAPI returns a client for the server and user of a kubeconfig file that
// package config rendered.
func dialAPI(kubeconfig string) (*api, error) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	var file struct {
		Clusters []struct {
			Cluster struct {
				Server    string `json:"server"`
				Authority []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	if len(file.Clusters) != 1 || len(file.Users) != 1 {
		return nil, fmt.Errorf("%s: %d clusters and %d users, want one of each", kubeconfig, len(file.Clusters), len(file.Users))
	}
	pair, err := tls.X509KeyPair(file.Users[0].User.Certificate, file.Users[0].User.Key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(file.Clusters[0].Cluster.Authority) {
		return nil, fmt.Errorf("%s: no certificate authority in it", kubeconfig)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	return &api{
		server: file.Clusters[0].Cluster.Server,
		client: &http.Client{Transport: transport, Timeout: 10 * time.Second},
	}, nil
}

// close ends the idle connections.
func (a *api) close() { a.client.CloseIdleConnections() }

// get reads a path and decodes the answer, unless into is nil.
func (a *api) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path, nil)
	if err != nil {
		return err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %.300s", path, response.Status, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

// ready says whether the API server serves.
func (a *api) ready(ctx context.Context) error { return a.get(ctx, "/readyz", nil) }

// accounts says whether the default service account exists, without which no
// pod can be created.
func (a *api) accounts(ctx context.Context) error {
	return a.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
}

// node is what of a Node is looked at.
type node struct {
	Status struct {
		Conditions []nodeCondition `json:"conditions"`
	} `json:"status"`
}

type nodeCondition struct {
	Type              string    `json:"type"`
	Status            string    `json:"status"`
	Message           string    `json:"message"`
	LastHeartbeatTime time.Time `json:"lastHeartbeatTime"`
}

// nodeReady says whether the kubelet that was started at since reports the node
// as ready. An older report is that of the kubelet before it.
func (a *api) nodeReady(name string, since time.Time) condition {
	return func(ctx context.Context) error {
		var n node
		if err := a.get(ctx, "/api/v1/nodes/"+name, &n); err != nil {
			return err
		}
		return n.ready(since)
	}
}

func (n node) ready(since time.Time) error {
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != "Ready":
		case c.LastHeartbeatTime.Before(since.Truncate(time.Second)): // reports carry whole seconds
			return errors.New("the kubelet has not reported yet")
		case c.Status != "True":
			return fmt.Errorf("the kubelet reports: %s", c.Message)
		default:
			return nil
		}
	}
	return errors.New("the kubelet has not reported anything")
}
