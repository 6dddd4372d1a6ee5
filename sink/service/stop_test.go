// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/config"
)

// bucket serves an S3 bucket that refuses to write while refuses is set. The keys are in files.
func bucket(t *testing.T, conf *config.Config, secret string, refuses *atomic.Bool) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && refuses.Load() {
			http.Error(w, "<Error><Code>SlowDown</Code></Error>", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	conf.Store.URL = "s3://bucket/prefix?endpoint=" + server.URL + "&region=us-east-1&path-style=true"
	conf.Store.AccessKeyFile, conf.Store.SecretKeyFile = file(t, "AKIDEXAMPLE"), file(t, secret)
}

// file writes a file with a text.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// shared is a buffer of several goroutines.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// soon waits until a condition holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within five minutes: %s", what)
		}
	}
}

// TestStopping: from the moment that it is told to stop the service is not ready. It finishes what
// it is storing. No secret is in its log, with all levels, or in anything that it serves.
func TestStopping(t *testing.T) {
	const password, secret, registryPassword = "hush-kafka", "hush-store", "hush-registry"
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topic), kfake.EnableSASL(), kfake.User("PLAIN", "alice", password), kfake.SleepOutOfOrder())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"schemaType":"JSON","schema":"{}"}`))
	}))
	defer registry.Close()
	conf := configure(t, c)
	conf.HTTP.Listen = "127.0.0.1:0"
	conf.Kafka.SASL = config.SASL{Mechanism: "plain", User: "alice", PasswordFile: file(t, password)}
	conf.Values = config.Values{Type: "text", Framing: "strip", Registry: config.Registry{URL: []string{registry.URL}, User: "bob", PasswordFile: file(t, registryPassword)}}
	conf.Rotate = config.Rotate{Records: 10}
	conf.Stop.Timeout = config.Duration(10 * time.Minute)
	var refuses atomic.Bool
	refuses.Store(true)
	bucket(t, &conf, secret, &refuses)
	login, err := client(conf.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	k, err := kgo.NewClient(append(login, kgo.SeedBrokers(c.ListenAddrs()...))...)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for range 15 {
		r := &kgo.Record{Topic: topic, Value: []byte("\x00\x00\x00\x00\x07{}")}
		if err := k.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var log shared
	s, err := New(t.Context(), conf, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	soon(t, "the store refuses", func() bool { return strings.Contains(log.String(), "the store refused") })
	served := ""
	for _, path := range []string{"/", "/stats", "/metrics", "/healthz", "/readyz", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		served += get(t, "http://"+s.Address()+path)
	}
	if got := get(t, "http://"+s.Address()+"/readyz"); got != "ok\n" {
		t.Errorf("/readyz: %q", got)
	}
	stop()
	soon(t, "it is not ready", func() bool { return get(t, "http://"+s.Address()+"/readyz") == "starting or stopping\n" })
	if got := get(t, "http://"+s.Address()+"/healthz"); got != "ok\n" {
		t.Errorf("/healthz: %q", got)
	}
	refuses.Store(false)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Objects != 1 || got.Commits != 1 {
		t.Errorf("%+v", got)
	}
	withoutSecrets(t, map[string]string{"the log": log.String(), "what it serves": served})
}

// TestLargeValues: values of 50 MB pass whole between small ones, one at a time. Those that the
// client reads have 9 MB, to save time.
func TestLargeValues(t *testing.T) { eachPath(t, testLargeValues) }

func testLargeValues(t *testing.T, responses string) {
	size := 9_000_000
	if responses == "offheap" && !testing.Short() {
		size = 50_000_000
	}
	c := cluster(t)
	if err := c.CreateTopic("large", 1, map[string]string{"max.message.bytes": "67108864"}); err != nil {
		t.Fatal(err)
	}
	k, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ProducerBatchMaxBytes(64<<20), kgo.BrokerMaxWriteBytes(100<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	long := bytes.Repeat([]byte("0123456789abcde "), size/16)
	for i := range partitions * 3 {
		value := []byte(`{"id":"` + string(rune('0'+i%partitions)) + "-" + string(rune('0'+i/partitions)) + `","text":"`)
		if i%2 == 1 {
			value = append(value, long...)
		}
		if err := k.ProduceSync(t.Context(), &kgo.Record{Topic: "large", Value: append(value, `"}`...)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	conf := configure(t, c)
	conf.Kafka.Responses, conf.Kafka.Topics = responses, []string{"large"}
	conf.Objects.CheckJSON = true
	conf.Objects.PartitionBy = []config.Partition{{Field: "id"}}
	conf.Rotate = config.Rotate{Records: partitions * 3}
	r := start(t, conf)
	until(t, c, r, partitions*3)
	// In flight is one fetch beyond the limit, and open content.
	if s := r.Stats(); s.PeakInFlight > s.Limit+int64(size)+8<<20 || s.InputBytes < 4*int64(size) {
		t.Errorf("%+v", s)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	check(t, stored(t, conf, "large/"), 3)
}
