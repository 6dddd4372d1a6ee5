// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/internal/secure"
	"github.com/freehold-go/freehold/sink/record"
)

// A server is a schema registry.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	schemas  map[string]map[string]any // answers by path
	asked    map[string]int            // requests by path
	down     int                       // requests that are refused first
	password string
}

func serve(t *testing.T) *server {
	s := &server{schemas: map[string]map[string]any{}, asked: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// add registers a schema.
func (s *server) add(id int, kind, text string, references ...map[string]any) {
	s.put(fmt.Sprintf("/schemas/ids/%d", id), map[string]any{"schema": text, "schemaType": kind, "references": references})
}

func (s *server) put(path string, answer map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schemas[path] = answer
}

func (s *server) times(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func (s *server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[q.URL.Path]++
	answer, ok := s.schemas[q.URL.Path]
	_, password, _ := q.BasicAuth()
	switch {
	case s.down > 0:
		s.down--
		http.Error(w, "<html>down for a moment</html>", http.StatusServiceUnavailable)
	case s.password != "" && password != s.password:
		http.Error(w, `{"error_code":401,"message":"who are you?"}`, http.StatusUnauthorized)
	case !ok && strings.HasPrefix(q.URL.Path, "/schemas/types"):
		fmt.Fprint(w, `["AVRO","JSON","PROTOBUF"]`)
	case !ok && strings.HasPrefix(q.URL.Path, "/elsewhere"):
		http.NotFound(w, q)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error_code":40403,"message":"Schema not found"}`)
	default:
		json.NewEncoder(w).Encode(answer)
	}
}

func client(t *testing.T, o RegistryOptions) *Registry {
	t.Helper()
	if o.First == 0 {
		o.First = time.Millisecond
	}
	r, err := NewRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func values(t *testing.T, o Options) *Values {
	t.Helper()
	v, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// prepare returns the value, or "bad: " with the reason.
func prepare(t *testing.T, v *Values, value string) string {
	t.Helper()
	r := &record.Record{Value: []byte(value)}
	err := v.Prepare(t.Context(), r)
	if bad := (*record.Bad)(nil); errors.As(err, &bad) {
		return "bad: " + bad.Error()
	}
	if err != nil {
		t.Error(err)
	}
	return string(r.Value)
}

func TestFraming(t *testing.T) {
	s := serve(t)
	s.add(1, "AVRO", `"string"`)
	s.add(2, "JSON", `{}`)
	s.add(3, "PROTOBUF", `syntax = "proto3"; message A {}`)
	r := client(t, RegistryOptions{URLs: []string{s.URL}})
	strip := values(t, Options{Framing: StripFraming, Registry: r})
	keep := values(t, Options{Framing: KeepFraming, Registry: r})
	alone := values(t, Options{Framing: StripFraming})
	none := values(t, Options{})
	for _, e := range []struct {
		v           *Values
		value, want string
	}{
		{none, "\x00\x00", "\x00\x00"},
		{alone, "\x00\x00\x00\x00\x09x", "x"},
		{alone, "\x00\x00\x00\x00\x09", ""},
		{alone, "\x00\x00\x00\x00", "bad: the value has no framing of a schema registry: it is shorter than 5 bytes"},
		{alone, "", "bad: the value has no framing of a schema registry: it is shorter than 5 bytes"},
		{alone, "{\"a\":1}", "bad: the value has no framing of a schema registry: its first byte is not 0"},
		{strip, "\x00\x00\x00\x00\x01x", "x"},
		{strip, "\x00\x00\x00\x00\x02{}", "{}"},
		{keep, "\x00\x00\x00\x00\x02{}", "\x00\x00\x00\x00\x02{}"},
		{strip, "\x00\x00\x00\x00\x03\x00x", "x"},
		{strip, "\x00\x00\x00\x00\x03\x04\x02\x80\x01x", "x"},
		{strip, "\x00\x00\x00\x00\x03", "bad: the framing of the value has indexes of a message that cannot be read"},
		{strip, "\x00\x00\x00\x00\x03\x04\x02", "bad: the framing of the value has indexes of a message that cannot be read"},
		{strip, "\x00\x00\x00\x00\x03\x01\x02", "bad: the framing of the value has indexes of a message that cannot be read"},
		{strip, "\x00\x00\x00\x00\x03\x7e\x02", "bad: the framing of the value has indexes of a message that cannot be read"},
		{strip, "\x00\x00\x00\x00\x04x", "bad: the schema registry has no schema with the id 4: the schema registry has no such schema: Schema not found"},
		{strip, "\x00\xff\xff\xff\xffx", "bad: the schema registry has no schema with the id -1: the schema registry has no such schema: Schema not found"},
	} {
		if got := prepare(t, e.v, e.value); got != e.want {
			t.Errorf("%q is %q, want %q", e.value, got, e.want)
		}
	}
	if err := strip.Prepare(t.Context(), &record.Record{}); err != nil {
		t.Errorf("a tombstone: %v", err)
	}
	for i := range 3 {
		if n := s.times(fmt.Sprintf("/schemas/ids/%d", i+1)); n != 1 {
			t.Errorf("the schema %d was asked for %d times", i+1, n)
		}
	}
	if n := s.times("/schemas/ids/4"); n != 2 {
		t.Errorf("a schema that is not there was asked for %d times, want 2", n)
	}
}

// TestNoAllocation: a schema that is known costs nothing on the Go heap.
func TestNoAllocation(t *testing.T) {
	s := serve(t)
	s.add(1000, "PROTOBUF", `syntax = "proto3"; message A {}`)
	v := values(t, Options{Framing: StripFraming, Registry: client(t, RegistryOptions{URLs: []string{s.URL}})})
	value := []byte("\x00\x00\x00\x03\xe8\x00x")
	r := &record.Record{}
	if n := testing.AllocsPerRun(100, func() {
		r.Value = value
		if err := v.Prepare(t.Context(), r); err != nil || string(r.Value) != "x" {
			t.Fatal(err, r.Value)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestUnknownLater: an id that the registry learns of later is asked for again.
func TestUnknownLater(t *testing.T) {
	s := serve(t)
	v := values(t, Options{Framing: StripFraming, Registry: client(t, RegistryOptions{URLs: []string{s.URL}, UnknownFor: time.Nanosecond})})
	if got := prepare(t, v, "\x00\x00\x00\x00\x01x"); !strings.HasPrefix(got, "bad: ") {
		t.Error(got)
	}
	s.add(1, "AVRO", `"string"`)
	if got := prepare(t, v, "\x00\x00\x00\x00\x01x"); got != "x" {
		t.Error(got)
	}
}

// TestDown: while the registry does not answer, records wait; those who wait may go; each attempt is reported.
func TestDown(t *testing.T) {
	s := serve(t)
	s.add(1, "AVRO", `"string"`)
	s.down = 5
	var mu sync.Mutex
	var failed []string
	r := client(t, RegistryOptions{URLs: []string{s.URL}, OnAttempt: func(a Attempt) {
		mu.Lock()
		defer mu.Unlock()
		if a.Err != nil {
			failed = append(failed, a.Err.Error())
		}
	}})
	v := values(t, Options{Framing: StripFraming, Registry: r})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got := prepare(t, v, "\x00\x00\x00\x00\x01x"); got != "x" {
				t.Error(got)
			}
		})
	}
	all.Wait()
	if len(failed) != 5 || !strings.Contains(failed[0], "Service Unavailable: <html>down for a moment</html>") || s.times("/schemas/ids/1") != 6 {
		t.Errorf("%q", failed)
	}
	s.down = 1 << 30
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if err := v.Prepare(ctx, &record.Record{Value: []byte("\x00\x00\x00\x00\x02x")}); !errors.Is(err, cause) {
		t.Error(err)
	}
	r.Close()
	if err := v.Prepare(t.Context(), &record.Record{Value: []byte("\x00\x00\x00\x00\x03x")}); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// TestGivesUp: after RetryFor the error is one of the sink and not one of the record. A 404 of another server is no answer of a registry.
func TestGivesUp(t *testing.T) {
	s := serve(t)
	r := client(t, RegistryOptions{URLs: []string{s.URL + "/elsewhere"}, RetryFor: 10 * time.Millisecond})
	v := values(t, Options{Framing: StripFraming, Registry: r})
	err := v.Prepare(t.Context(), &record.Record{Value: []byte("\x00\x00\x00\x00\x01x")})
	if bad := (*record.Bad)(nil); err == nil || errors.As(err, &bad) || !strings.Contains(err.Error(), "gave up after") {
		t.Error(err)
	}
}

// TestSecrets: passwords and certificates come from files and variables, may change, and are in no error.
func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old\n")
	s := serve(t)
	s.password = "hush"
	s.add(1, "AVRO", `"string"`)
	r := client(t, RegistryOptions{URLs: []string{s.URL}, User: "alice", PasswordFile: file, OnAttempt: func(a Attempt) {
		if a.N == 2 {
			write("hush")
		}
		if a.Err != nil && !strings.Contains(a.Err.Error(), "who are you?") {
			t.Error(a.Err)
		}
	}})
	if _, err := r.get(t.Context(), 1); err != nil {
		t.Error(err)
	}
	t.Setenv("REGISTRY_PASSWORD", "hush")
	if types, err := client(t, RegistryOptions{URLs: []string{s.URL}, User: "alice", PasswordEnv: "REGISTRY_PASSWORD"}).Check(t.Context()); err != nil || len(types) != 3 {
		t.Error(types, err)
	}
	encrypted := httptest.NewTLSServer(s)
	defer encrypted.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encrypted.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, RegistryOptions{URLs: []string{encrypted.URL}, User: "alice", PasswordFile: file, TLS: secure.TLS{CAFile: ca}}).get(t.Context(), 1); err != nil {
		t.Error(err)
	}
	for want, o := range map[string]RegistryOptions{
		"no URL":             {},
		"belong to options":  {URLs: []string{"http://alice:hush@host"}},
		"cannot be read":     {URLs: []string{"http://alice:hush@host:port"}},
		"does not begin":     {URLs: []string{"host:8081"}},
		"choose one":         {URLs: []string{s.URL}, User: "alice", TokenFile: file},
		"belong together":    {URLs: []string{s.URL}, User: "alice"},
		"no such file":       {URLs: []string{s.URL}, User: "alice", PasswordFile: file + "x"},
		"NO_SUCH_VARIABLE":   {URLs: []string{s.URL}, User: "alice", PasswordEnv: "NO_SUCH_VARIABLE"},
		"file of a secret":   {URLs: []string{s.URL}, TokenFile: file + "x"},
		"no certificate":     {URLs: []string{s.URL}, TLS: secure.TLS{CAFile: file}},
		"client's certifica": {URLs: []string{s.URL}, TLS: secure.TLS{CertFile: file, KeyFile: file}},
	} {
		if _, err := NewRegistry(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for want, o := range map[string]Options{"choose strip or keep": {Framing: "peel"}, "no framing": {Registry: r}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestManyUnknown: values that have no framing can look like any id, and the entries of unknown ids are bounded.
func TestManyUnknown(t *testing.T) {
	s := serve(t)
	s.add(1, "AVRO", `"string"`)
	r := client(t, RegistryOptions{URLs: []string{s.URL}})
	if _, err := r.get(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	close(done)
	for id := range int32(mostUnknown) {
		r.known[id+2] = &entry{done: done, err: errUnknown, bad: true, until: time.Now().Add(time.Hour)}
	}
	r.unknown = mostUnknown
	if _, err := r.get(t.Context(), -1); err == nil || len(r.known) != 2 {
		t.Errorf("%d entries, %v", len(r.known), err)
	}
}

// FuzzPrepare: no value makes Prepare fail, but bad values their records.
func FuzzPrepare(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x03\x04\x02\x80\x01x"))
	f.Add(bytes.Repeat([]byte{0x80}, 30))
	f.Fuzz(func(t *testing.T, value []byte) {
		v := &Values{Options{Framing: StripFraming}}
		r := &record.Record{Value: append([]byte{}, value...)}
		err := v.Prepare(t.Context(), r)
		if bad := (*record.Bad)(nil); err != nil && !errors.As(err, &bad) || err == nil && !bytes.HasSuffix(value, r.Value) {
			t.Error(err, r.Value)
		}
		if n := indexes(value); n > len(value) {
			t.Error(n)
		}
	})
}
