// SPDX-License-Identifier: Apache-2.0

// Package secure reads certificates from files, and secrets from files and from the environment.
//
// No error holds a secret.
package secure

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
)

// TLS says how connections are encrypted.
type TLS struct {
	CAFile            string // certificates in PEM that sign the servers'; "" is the system's
	CertFile, KeyFile string // the client's certificate and key in PEM, for mTLS
	ServerName        string // name that the servers' certificates must have; "" is the name in the address
	SkipVerify        bool   // accept any certificate: only for tests
}

// Config reads the files. The error names the file that is wrong. The client's certificate is read at each handshake, so it can be
// renewed while the sink runs.
func (t TLS) Config() (*tls.Config, error) {
	c := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.SkipVerify, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificates of the servers: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile == "" {
		return c, nil
	}
	load := func() (*tls.Certificate, error) {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate %s and key %s: %w", t.CertFile, t.KeyFile, err)
		}
		return &cert, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return c, nil
}

// Secret reads a secret from a file, or from a variable of the environment. A newline at the file's end, as editors make, is no part of the secret.
func Secret(file, variable string) (string, error) {
	if variable != "" {
		if s := os.Getenv(variable); s != "" {
			return s, nil
		}
		return "", fmt.Errorf("the variable %s, which should have a secret, is empty", variable)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the file of a secret: %w", err)
	}
	s := strings.TrimRight(string(text), "\r\n")
	if s == "" {
		return "", fmt.Errorf("the file %s, which should have a secret, is empty", file)
	}
	return s, nil
}
