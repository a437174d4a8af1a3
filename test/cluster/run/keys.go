// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"github.com/cotenant-dev/cotenant/test/cluster/config"
	"github.com/cotenant-dev/cotenant/test/cluster/pki"
)

// authority returns the cluster's certificate authority and makes it, with all
// keys of the control plane, the first time.
func (c *Cluster) authority(s state) (*pki.Authority, error) {
	certificate, err := os.ReadFile(c.file(config.AuthorityFile))
	if os.IsNotExist(err) {
		return c.makeKeys(s)
	}
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(c.file(config.AuthorityKeyFile))
	if err != nil {
		return nil, err
	}
	return pki.LoadAuthority(pki.Pair{Certificate: certificate, Key: key})
}

func (c *Cluster) makeKeys(s state) (*pki.Authority, error) {
	now := time.Now()
	authority, err := pki.NewAuthority(now)
	if err != nil {
		return nil, err
	}
	hosts := []string{"127.0.0.1", "localhost", config.ServiceIP, config.ControlPlaneIP,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if err := c.issue(authority, pki.Subject{CommonName: "kube-apiserver", Hosts: hosts}, config.APICertificateFile, config.APIKeyFile); err != nil {
		return nil, err
	}
	// The kubelet asks the API server whether this user may have a pod's logs.
	kubeletClient := pki.Subject{CommonName: "kube-apiserver-kubelet-client", Organizations: []string{"system:masters"}}
	if err := c.issue(authority, kubeletClient, config.KubeletClientFile, config.KubeletClientKeyFile); err != nil {
		return nil, err
	}
	if err := c.makeAccountKey(); err != nil {
		return nil, err
	}
	inside := fmt.Sprintf("https://127.0.0.1:%d", s.Ports.API)
	users := []struct {
		subject      pki.Subject
		server, file string
	}{
		{pki.Subject{CommonName: "admin", Organizations: []string{"system:masters"}}, fmt.Sprintf("https://127.0.0.1:%d", s.Published), config.AdminKC},
		{pki.Subject{CommonName: "system:kube-controller-manager"}, inside, config.ControllerManagerKC},
		{pki.Subject{CommonName: "system:kube-scheduler"}, inside, config.SchedulerKC},
	}
	for _, u := range users {
		if err := c.kubeconfig(authority, u.subject, u.server, u.file); err != nil {
			return nil, err
		}
	}
	// The authority last: while it is missing the rest is made again.
	pair := authority.Pair()
	if err := c.write(config.AuthorityKeyFile, pair.Key, 0o600); err != nil {
		return nil, err
	}
	return authority, c.write(config.AuthorityFile, pair.Certificate, 0o644)
}

func (c *Cluster) issue(a *pki.Authority, s pki.Subject, certificate, key string) error {
	pair, err := a.Issue(s, time.Now())
	if err != nil {
		return err
	}
	if err := c.write(key, pair.Key, 0o600); err != nil {
		return err
	}
	return c.write(certificate, pair.Certificate, 0o644)
}

// kubeconfig writes a kubeconfig file for the subject.
func (c *Cluster) kubeconfig(a *pki.Authority, s pki.Subject, server, file string) error {
	pair, err := a.Issue(s, time.Now())
	if err != nil {
		return err
	}
	text, err := config.Kubeconfig(server, a.Pair().Certificate, pair.Certificate, pair.Key)
	if err != nil {
		return err
	}
	return c.write(file, text, 0o600)
}

// makeAccountKey makes the key that signs service account tokens. It is RSA,
// because the tokens of every Kubernetes version can be signed with that.
func (c *Cluster) makeAccountKey() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return c.write(config.AccountKeyFile, text, 0o600)
}
