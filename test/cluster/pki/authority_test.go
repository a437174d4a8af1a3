// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A server and a client of one authority trust each other and nobody else, also
// after the authority was stored and loaded.
func TestServerAndClientTrustEachOther(t *testing.T) {
	now := time.Now()
	made, err := NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := LoadAuthority(made.Pair())
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, authority, issue(t, authority, Subject{CommonName: "server", Hosts: []string{"127.0.0.1", "example.test"}}, now))
	user := Subject{CommonName: "system:node:a", Organizations: []string{"system:nodes"}}
	for name, test := range map[string]struct {
		signer, trusts *Authority
		host           string
		want           string
	}{
		"by address":          {authority, authority, "", "system:node:a in [system:nodes]"},
		"by name":             {authority, authority, "example.test", "system:node:a in [system:nodes]"},
		"by another name":     {authority, authority, "other.test", "not other.test"},
		"client of another":   {stranger, authority, "", "unknown certificate authority"},
		"client that doubts":  {authority, stranger, "", "unknown authority"},
		"made before loading": {made, made, "", "system:node:a in [system:nodes]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, server.URL, test.host, test.trusts, issue(t, test.signer, user, now))
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

func issue(t *testing.T, a *Authority, s Subject, now time.Time) tls.Certificate {
	t.Helper()
	pair, err := a.Issue(s, now)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func pool(a *Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(a.Pair().Certificate)
	return p
}

func serve(t *testing.T, a *Authority, certificate tls.Certificate) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := r.TLS.PeerCertificates[0].Subject
		io.WriteString(w, who.CommonName+" in ["+strings.Join(who.Organization, " ")+"]")
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(a)}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ask returns the answer, or the error's text.
func ask(t *testing.T, url, host string, trusts *Authority, certificate tls.Certificate) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool(trusts), Certificates: []tls.Certificate{certificate}, ServerName: host,
	}}}
	defer client.CloseIdleConnections()
	response, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

func TestCertificatesEnd(t *testing.T) {
	long := time.Now().Add(-validity - time.Hour)
	old, err := NewAuthority(long)
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, old, issue(t, old, Subject{CommonName: "server", Hosts: []string{"127.0.0.1"}}, long))
	if got := ask(t, server.URL, "", old, issue(t, old, Subject{CommonName: "x"}, long)); !strings.Contains(got, "expired") {
		t.Errorf("got %q", got)
	}
}

func TestLoadAuthorityRefuses(t *testing.T) {
	a, err := NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string]Pair{
		"nothing":             {},
		"no key":              {Certificate: a.Pair().Certificate},
		"key for certificate": {Certificate: a.Pair().Key, Key: a.Pair().Key},
		"certificate for key": {Certificate: a.Pair().Certificate, Key: a.Pair().Certificate},
	} {
		if _, err := LoadAuthority(pair); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
