// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// write makes a file and returns its name.
func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// certificate makes a certificate for 127.0.0.1 that signs itself, and its files.
func certificate(t *testing.T) (cert tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	if cert, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return cert, write(t, "cert.pem", certPEM), write(t, "key.pem", keyPEM)
}

// TestTLSAndSASL reads a topic over TLS, with a client's certificate, and with each mechanism that the brokers of the test have.
func TestTLSAndSASL(t *testing.T) { bothPaths(t, testTLSAndSASL) }

func testTLSAndSASL(t *testing.T, by path) {
	cert, certFile, keyFile := certificate(t)
	pool := x509.NewCertPool()
	leaf, _ := x509.ParseCertificate(cert.Certificate[0])
	pool.AddCert(leaf)
	mutual := &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	for mechanism, name := range map[string]string{"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512"} {
		c := cluster(t, 1, kfake.TLS(mutual), kfake.EnableSASL(), kfake.User(name, "alice", "secret"))
		overTLS, err := TLS{CAFile: certFile, CertFile: certFile, KeyFile: keyFile}.Config()
		if err != nil {
			t.Fatal(err)
		}
		login, err := SASL{Mechanism: mechanism, User: "alice", PasswordFile: write(t, "password", []byte("secret\n"))}.Option()
		if err != nil {
			t.Fatal(err)
		}
		produce(t, c, 0, 0, 10, kgo.DialTLSConfig(overTLS), login)
		h := newCollector(t)
		_, stop := by.run(t, c, h, func(o *Options) { o.TLS, o.Client = overTLS, append(o.Client, login) })
		h.until(mechanism, func() bool { return h.next[source.Partition{Topic: "t"}] == 10 })
		stop()
	}
}

// TestOAuthBearer: the token is read from its file at each login.
func TestOAuthBearer(t *testing.T) { bothPaths(t, testOAuthBearer) }

func testOAuthBearer(t *testing.T, by path) {
	c := cluster(t, 1)
	produce(t, c, 0, 0, 10)
	var mu sync.Mutex
	accepted, seen := "first", map[string]bool{}
	c.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		if got := r.(*kmsg.SASLHandshakeRequest).Mechanism; got != "OAUTHBEARER" {
			t.Errorf("mechanism %q", got)
		}
		resp.SupportedMechanisms = []string{"OAUTHBEARER"}
		return resp, nil, true
	})
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		// RFC 7628, section 3.1.
		sent := string(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes)
		if _, token, ok := strings.Cut(sent, "auth=Bearer "+accepted+"\x01"); !ok || token != "\x01" {
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		}
		seen[accepted] = true
		return resp, nil, true
	})
	file := write(t, "token", []byte("first\n"))
	login, err := SASL{Mechanism: "oauthbearer", TokenFile: file}.Option()
	if err != nil {
		t.Fatal(err)
	}
	fromEnv, err := SASL{Mechanism: "oauthbearer", TokenEnv: setenv(t, "SINK_TOKEN", "third")}.Option()
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"first", "second", "third"} {
		if token == "third" {
			login = fromEnv
		}
		mu.Lock()
		accepted = token
		mu.Unlock()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		h := newCollector(t)
		_, stop := by.run(t, c, h, func(o *Options) { o.Client = append(o.Client, login) })
		h.until(token, func() bool { return h.next[source.Partition{Topic: "t"}] == 10 })
		stop()
		if !seen[token] {
			t.Errorf("nobody logged in with %q", token)
		}
	}
}

// setenv sets a variable and returns its name.
func setenv(t *testing.T, name, value string) string {
	t.Setenv(name, value)
	return name
}

// TestAuthErrors: errors name the file and not the secret.
func TestAuthErrors(t *testing.T) {
	empty, text := write(t, "empty", nil), write(t, "text", []byte("hush"))
	for want, err := range map[string]error{
		"no such file":     second(TLS{CAFile: "/nowhere"}.Config()),
		"no certificate":   second(TLS{CAFile: text}.Config()),
		"key " + text:      second(TLS{CertFile: text, KeyFile: text}.Config()),
		"is empty":         second(SASL{Mechanism: "plain", User: "u", PasswordFile: empty}.Option()),
		"needs a user":     second(SASL{Mechanism: "plain", PasswordFile: text}.Option()),
		"no SASL mech":     second(SASL{Mechanism: "magic", User: "u", PasswordFile: text}.Option()),
		"variable NO_SUCH": second(SASL{Mechanism: "plain", User: "u", PasswordEnv: "NO_SUCH"}.Option()),
		"of a secret":      second(SASL{Mechanism: "oauthbearer", TokenFile: "/nowhere"}.Option()),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestDeadLetters: Flush returns after the records are in the topic, and an error stays.
func TestDeadLetters(t *testing.T) {
	c := cluster(t, 1)
	d, err := NewProducer(c.ListenAddrs(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i := range 20 {
		r := record.Record{Key: []byte("k"), Value: value(i), Timestamp: int64(1000 + i), Headers: []record.Header{{Key: "h", Value: []byte("x")}}}
		if i == 7 {
			r.Value, r.Timestamp = nil, -1
		}
		if err := d.Send(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Value != nil {
			r.Value[0] = 'X' // It was copied.
		}
	}
	if err := d.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info := c.PartitionInfo("t", 0); info.HighWatermark != 20 {
		t.Errorf("%d records are in the topic", info.HighWatermark)
	}
	gone, err := NewProducer(c.ListenAddrs(), "nowhere", kgo.UnknownTopicRetries(1), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if err := gone.Send(t.Context(), &record.Record{Value: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := gone.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("a topic that is not there: %v", err)
		}
	}
}
