// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// TLS says how connections to brokers are encrypted.
type TLS struct {
	CAFile            string // certificates in PEM that sign the brokers'; "" is the system's
	CertFile, KeyFile string // the client's certificate and key in PEM, for mTLS
	ServerName        string // name that the brokers' certificates must have; "" is the name in the address
	SkipVerify        bool   // accept any certificate: only for tests
}

// Option is the option for Options.Client. The error names the file that is wrong.
func (t TLS) Option() (kgo.Opt, error) {
	c := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.SkipVerify, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("kafka: certificates of the brokers: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka: %s has no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		// Read at each handshake, so that a certificate can be renewed while the sink runs.
		load := func() (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
			if err != nil {
				return nil, fmt.Errorf("kafka: the client's certificate %s and key %s: %w", t.CertFile, t.KeyFile, err)
			}
			return &cert, nil
		}
		if _, err := load(); err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return kgo.DialTLSConfig(c), nil
}

// SASL says how the client authenticates itself. Secrets are in files, which are read at each login, so that they can change while the
// sink runs.
type SASL struct {
	Mechanism    string // plain, scram-sha-256, scram-sha-512 or oauthbearer
	User         string
	PasswordFile string
	TokenFile    string // of oauthbearer
}

// Option is the option for Options.Client. The error names the file that cannot be read; no error has a secret.
func (s SASL) Option() (kgo.Opt, error) {
	if s.Mechanism == "oauthbearer" {
		if _, err := secret(s.TokenFile); err != nil {
			return nil, err
		}
		return kgo.SASL(oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := secret(s.TokenFile)
			return oauth.Auth{Token: token}, err
		})), nil
	}
	if s.User == "" {
		return nil, errors.New("kafka: SASL needs a user")
	}
	if _, err := secret(s.PasswordFile); err != nil {
		return nil, err
	}
	scrammed := func(context.Context) (scram.Auth, error) {
		password, err := secret(s.PasswordFile)
		return scram.Auth{User: s.User, Pass: password}, err
	}
	switch s.Mechanism {
	case "plain":
		return kgo.SASL(plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := secret(s.PasswordFile)
			return plain.Auth{User: s.User, Pass: password}, err
		})), nil
	case "scram-sha-256":
		return kgo.SASL(scram.Sha256(scrammed)), nil
	case "scram-sha-512":
		return kgo.SASL(scram.Sha512(scrammed)), nil
	}
	return nil, fmt.Errorf("kafka: no SASL mechanism %q; there are plain, scram-sha-256, scram-sha-512 and oauthbearer", s.Mechanism)
}

// secret reads a file with a secret. A newline at its end, as editors make, is no part of it.
func secret(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("kafka: the file of a secret: %w", err)
	}
	s := strings.TrimRight(string(text), "\r\n")
	if s == "" {
		return "", fmt.Errorf("kafka: the file %s, which should have a secret, is empty", file)
	}
	return s, nil
}
