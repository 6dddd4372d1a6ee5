// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/freehold-go/freehold/sink/config"
)

// withoutSecrets checks that texts have none of the tests' secrets, which all begin alike.
func withoutSecrets(t *testing.T, texts map[string]string) {
	t.Helper()
	for where, text := range texts {
		if at := strings.Index(text, "hush-"); at >= 0 {
			t.Errorf("%s has a secret: %q", where, text[max(0, at-80):min(len(text), at+80)])
		}
	}
}

// account is the key of a service account, whose private key and id are secrets.
func account(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "private_key_id": "hush-id", "client_email": "a@p.iam.gserviceaccount.com", "client_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"token_uri":   "http://127.0.0.1:1/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestNoOutputHasSecrets runs each command with each way to name each kind of secret. Brokers, store
// and registry refuse them, and repeat the request that they refuse. Some secrets stand where a
// configuration may not have them.
func TestNoOutputHasSecrets(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topic), kfake.EnableSASL(), kfake.User("PLAIN", "alice", "another"), kfake.User("SCRAM-SHA-256", "alice", "another"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "<Error><Code>AccessDenied</Code></Error> "+r.URL.String(), http.StatusForbidden)
	}))
	defer refuses.Close()
	t.Setenv("TEST_SECRET", "hush-env")
	t.Setenv("AWS_ACCESS_KEY_ID", "hush-aws-id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush-aws")
	s3, gs := "s3://bucket/prefix?endpoint="+refuses.URL+"&region=us-east-1&path-style=true", "gs://bucket/prefix?endpoint="+refuses.URL
	registry := config.Registry{URL: []string{refuses.URL}}
	for name, change := range map[string]func(*config.Config){
		"files": func(c *config.Config) {
			c.Kafka.SASL = config.SASL{Mechanism: "plain", User: "alice", PasswordFile: file(t, "hush-file")}
			c.Store = config.Store{URL: s3, AccessKeyFile: file(t, "hush-id"), SecretKeyFile: file(t, "hush-file")}
			c.Values.Registry.User, c.Values.Registry.PasswordFile = "bob", file(t, "hush-file")
		},
		"variables": func(c *config.Config) {
			c.Kafka.SASL = config.SASL{Mechanism: "scram-sha-256", User: "alice", PasswordEnv: "TEST_SECRET"}
			c.Store = config.Store{URL: s3}
			c.Values.Registry.User, c.Values.Registry.PasswordEnv = "bob", "TEST_SECRET"
		},
		"tokens": func(c *config.Config) {
			c.Kafka.SASL = config.SASL{Mechanism: "oauthbearer", TokenFile: file(t, "hush-token")}
			c.Store = config.Store{URL: gs, CredentialsFile: file(t, account(t))}
			c.Values.Registry.TokenFile = file(t, "hush-token")
		},
		"token in a variable": func(c *config.Config) {
			c.Kafka.SASL = config.SASL{Mechanism: "oauthbearer", TokenEnv: "TEST_SECRET"}
			c.Store = config.Store{URL: s3, CredentialsFile: file(t, "[default]\naws_access_key_id = hush-id\naws_secret_access_key = hush-file\n")}
		},
		"keys that are none": func(c *config.Config) {
			c.Kafka.TLS = config.TLS{Enabled: true, CertFile: file(t, "hush-cert"), KeyFile: file(t, "hush-key"), CAFile: file(t, "hush-ca")}
			c.Store = config.Store{URL: gs, CredentialsFile: file(t, `{"private_key":"hush-key"`)}
		},
		"user in the store's URL":    func(c *config.Config) { c.Store.URL = "s3://key:hush-url@bucket/prefix" },
		"user in the endpoint":       func(c *config.Config) { c.Store.URL = "s3://bucket/prefix?endpoint=http://key:hush-url@127.0.0.1:1" },
		"secret in a parameter":      func(c *config.Config) { c.Store.URL = "s3://bucket/prefix?secret-key=hush-url" },
		"user in the registry's URL": func(c *config.Config) { c.Values.Registry.URL = []string{"http://bob:hush-url@127.0.0.1:1"} },
	} {
		t.Run(name, func(t *testing.T) {
			conf := configure(t, c)
			conf.HTTP.Listen = "127.0.0.1:0"
			conf.Values = config.Values{Type: "text", Framing: "strip", Registry: registry}
			change(&conf)
			conf.Store.RetryFor, conf.Store.Uploads, conf.Values.Registry.RetryFor = 1, 1, 1
			outputs(t, conf)
		})
	}
}

// outputs runs all commands with a configuration, and looks for secrets in what they print.
func outputs(t *testing.T, conf config.Config) {
	var log, printed bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond) // Nothing succeeds, so time changes how often things are tried alone.
	defer cancel()
	errs := []error{Describe(ctx, &printed, conf, true), Inspect(ctx, &printed, conf, true), Replay(ctx, &printed, conf, ReplayOptions{From: topic, To: "other"})}
	served := ""
	s, err := New(ctx, conf, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err == nil {
		served = fmt.Sprintf("%+v", s.State())
		err = s.Run(ctx)
	}
	errs = append(errs, err)
	if errs[0] == nil {
		t.Error("check succeeds")
	}
	withoutSecrets(t, map[string]string{
		"an error": fmt.Sprint(errors.Join(errs...)), "an error in detail": fmt.Sprintf("%+v %#v", errors.Join(errs...), errs), "the log": log.String(), "the output": printed.String(),
		"the state": served,
	})
}

// TestDebugStaysOnThisMachine: beyond loopback there are metrics and health alone.
func TestDebugStaysOnThisMachine(t *testing.T) {
	c := cluster(t)
	open, shut := []string{"/metrics", "/healthz", "/readyz"}, []string{"/", "/stats", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap", "/debug/pprof/offheap", "/debug/freehold/metrics"}
	for _, test := range []struct {
		listen, debug string
		debugging     bool
	}{{"127.0.0.1:0", "loopback", true}, {"[::1]:0", "loopback", true}, {":0", "loopback", false}, {"0.0.0.0:0", "loopback", false}, {"0.0.0.0:0", "always", true}, {"127.0.0.1:0", "never", false}} {
		if l, err := net.Listen("tcp", test.listen); err != nil {
			t.Logf("%s: skipped: %v", test.listen, err) // A machine without IPv6.
			continue
		} else {
			l.Close()
		}
		conf := configure(t, c)
		conf.HTTP = config.HTTP{Listen: test.listen, Debug: test.debug}
		r := start(t, conf)
		_, port, err := net.SplitHostPort(r.Address())
		if err != nil {
			t.Fatal(err)
		}
		host := "127.0.0.1"
		if strings.HasPrefix(test.listen, "[") {
			host = "::1"
		}
		soon(t, "it is ready", func() bool { return status(t, "http://"+net.JoinHostPort(host, port)+"/readyz") == http.StatusOK })
		for _, path := range append(open, shut...) {
			want := http.StatusOK
			if !test.debugging && path != "/metrics" && path != "/healthz" && path != "/readyz" {
				want = http.StatusForbidden
			}
			if got := status(t, "http://"+net.JoinHostPort(host, port)+path); got != want {
				t.Errorf("%+v: %s: status %d, want %d", test, path, got, want)
			}
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	}
}

// status is that of a GET request.
func status(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}
