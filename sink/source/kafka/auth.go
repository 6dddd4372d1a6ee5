// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/freehold-go/freehold/sink/internal/secure"
)

// TLS says how connections to brokers are encrypted.
type TLS struct {
	CAFile            string // certificates in PEM that sign the brokers'; "" is the system's
	CertFile, KeyFile string // the client's certificate and key in PEM, for mTLS
	ServerName        string // name that the brokers' certificates must have; "" is the name in the address
	SkipVerify        bool   // accept any certificate: only for tests
}

// Config is the configuration for Options.TLS and kgo.DialTLSConfig. The error names the file that is wrong.
func (t TLS) Config() (*tls.Config, error) {
	c, err := secure.TLS(t).Config()
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return c, nil
}

// SASL says how the client authenticates itself. The password, or the token of oauthbearer, is in a file or in the variable of the environment
// that is named. Files are read at each login, so that secrets can change while the sink runs.
type SASL struct {
	Mechanism                 string // plain, scram-sha-256, scram-sha-512 or oauthbearer
	User                      string
	PasswordFile, PasswordEnv string
	TokenFile, TokenEnv       string
}

// Option is the option for Options.Client. The error names what cannot be read; no error has a secret.
func (s SASL) Option() (kgo.Opt, error) {
	if s.Mechanism == "oauthbearer" {
		if _, err := secret(s.TokenFile, s.TokenEnv); err != nil {
			return nil, err
		}
		return kgo.SASL(oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := secret(s.TokenFile, s.TokenEnv)
			return oauth.Auth{Token: token}, err
		})), nil
	}
	if s.User == "" {
		return nil, errors.New("kafka: SASL needs a user")
	}
	if _, err := secret(s.PasswordFile, s.PasswordEnv); err != nil {
		return nil, err
	}
	scrammed := func(context.Context) (scram.Auth, error) {
		password, err := secret(s.PasswordFile, s.PasswordEnv)
		return scram.Auth{User: s.User, Pass: password}, err
	}
	switch s.Mechanism {
	case "plain":
		return kgo.SASL(plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := secret(s.PasswordFile, s.PasswordEnv)
			return plain.Auth{User: s.User, Pass: password}, err
		})), nil
	case "scram-sha-256":
		return kgo.SASL(scram.Sha256(scrammed)), nil
	case "scram-sha-512":
		return kgo.SASL(scram.Sha512(scrammed)), nil
	}
	return nil, fmt.Errorf("kafka: no SASL mechanism %q; there are plain, scram-sha-256, scram-sha-512 and oauthbearer", s.Mechanism)
}

// secret reads a secret from a file or a variable.
func secret(file, variable string) (string, error) {
	s, err := secure.Secret(file, variable)
	if err != nil {
		return "", fmt.Errorf("kafka: %w", err)
	}
	return s, nil
}
