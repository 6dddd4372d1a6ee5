// SPDX-License-Identifier: Apache-2.0

package gcsstore

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
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"

	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/storetest"
)

const bucket = "orders-archive"

// fake is a server in this process. Filter sees each request first, and returns true if it has
// answered.
type fake struct {
	*httptest.Server
	filter atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	mu     sync.Mutex
	seen   []string // method, path and query of each request
}

func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(nil)
	address := f.Listener.Addr().String()
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, PublicHost: address, ExternalURL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: bucket})
	handler := server.HTTPHandler()
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery)
		f.mu.Unlock()
		if filter := f.filter.Load(); filter != nil && (*filter)(w, r) {
			return
		}
		handler.ServeHTTP(w, r)
	})
	f.Start()
	t.Cleanup(f.Close)
	return f
}

// refuse makes requests that match fail with a status, until the returned function is called.
func (f *fake) refuse(match func(*http.Request) bool, status int) (restore func()) {
	filter := func(w http.ResponseWriter, r *http.Request) bool {
		if !match(r) {
			return false
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%d,"message":"refused by the test"}}`, status)
		return true
	}
	f.filter.Store(&filter)
	return func() { f.filter.Store(nil) }
}

func (f *fake) count(part string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.seen {
		if strings.Contains(r, part) {
			n++
		}
	}
	return n
}

func (f *fake) open(t testing.TB, o Options) *Store {
	t.Helper()
	o.Bucket, o.Prefix, o.Endpoint, o.Anonymous = bucket, "/kafka/", f.URL+"/", true
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	s.pageSize = 50
	return s
}

func TestConformance(t *testing.T) {
	for name, o := range map[string]Options{
		"whole":  {},
		"chunks": {Whole: 1 << 20, ChunkSize: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Suite{
				Open: func(t *testing.T) store.Store { return newFake(t).open(t, o) },
				OpenThrough: func(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) store.Store {
					o := o
					o.wrapper = wrap
					return newFake(t).open(t, o)
				},
				Large: 5<<20 + 1, // the fake copies what it has for each chunk
			}.Run(t)
		})
	}
}

var about = store.About{ContentType: "text/plain", Topic: "orders", Group: "g"}

func TestOneRequestForABodyUpToTheLimit(t *testing.T) {
	f := newFake(t)
	s := f.open(t, Options{Whole: 1 << 20, ChunkSize: 256 << 10})
	for _, c := range []struct{ size, whole, resumable int }{{0, 1, 0}, {1 << 20, 1, 0}, {1<<20 + 1, 0, 1}} {
		whole, resumable := f.count("uploadType=multipart"), f.count("uploadType=resumable")
		if err := s.Put(t.Context(), "k", store.Bytes(make([]byte, c.size)), about); err != nil {
			t.Fatal(err)
		}
		if n := f.count("uploadType=multipart") - whole; n != c.whole {
			t.Errorf("%d bytes: %d requests with the whole body, want %d", c.size, n, c.whole)
		}
		if n := f.count("uploadType=resumable") - resumable; (n > 0) != (c.resumable > 0) {
			t.Errorf("%d bytes: %d resumable requests", c.size, n)
		}
	}
}

// TestLengthIsKnown: the request for a body up to the limit says how long it is, and its bytes come
// at the end in one piece.
func TestLengthIsKnown(t *testing.T) {
	f := newFake(t)
	s := f.open(t, Options{})
	for _, size := range []int{0, 1, 300_000} {
		content := bytes.Repeat([]byte("x"), size)
		var length atomic.Int64
		filter := func(_ http.ResponseWriter, r *http.Request) bool {
			if isUpload(r) {
				b, err := io.ReadAll(r.Body)
				if err != nil || r.ContentLength != int64(len(b)) || len(r.TransferEncoding) > 0 || !bytes.Contains(b, append([]byte("\r\n\r\n"), append(content, "\r\n--"...)...)) {
					t.Errorf("%d bytes: the length is %d, %d bytes came, encoded as %v: %v", size, r.ContentLength, len(b), r.TransferEncoding, err)
				}
				length.Store(r.ContentLength)
				r.Body = io.NopCloser(bytes.NewReader(b))
			}
			return false
		}
		f.filter.Store(&filter)
		if err := s.Put(t.Context(), "k", store.Bytes(content), about); err != nil || length.Load() == 0 {
			t.Errorf("%d bytes: %v, the length is %d", size, err, length.Load())
		}
		r, info, err := s.Get(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) || info.About != about {
			t.Errorf("%d bytes: read %d, %v, %+v", size, len(got), err, info)
		}
		r.Close()
	}
}

// TestCredentials has keys of a service account, in the file that Options names or in that of the
// environment: requests bear the token that the keys' server gives.
func TestCredentials(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	var asked, bore atomic.Int32
	filter := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			asked.Add(1)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"the-token","token_type":"Bearer","expires_in":3600}`)
			return true
		}
		if isUpload(r) && r.Header.Get("Authorization") == "Bearer the-token" {
			bore.Add(1)
		}
		return false
	}
	f.filter.Store(&filter)
	encoded := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	account, err := json.Marshal(map[string]string{"type": "service_account", "private_key": string(encoded), "client_email": "a@b", "token_uri": f.URL + "/token"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, account, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	for i, named := range []string{file, ""} {
		s, err := Open(t.Context(), Options{Bucket: bucket, Endpoint: f.URL, CredentialsFile: named})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), "k", store.Bytes([]byte("x")), about); err != nil {
			t.Error(err)
		}
		if n := int32(i + 1); asked.Load() != n || bore.Load() != n {
			t.Errorf("with the file %q: %d tokens, %d requests with one", named, asked.Load(), bore.Load())
		}
	}
}

// TestEmulatorAndProject: without an Endpoint requests go where STORAGE_EMULATOR_HOST says, with or
// without a scheme, and each names the project that pays.
func TestEmulatorAndProject(t *testing.T) {
	f := newFake(t)
	for _, host := range []string{f.URL, f.Listener.Addr().String()} {
		t.Setenv("STORAGE_EMULATOR_HOST", host)
		s, err := Open(t.Context(), Options{Bucket: bucket, UserProject: "the-payer", Whole: 1, ChunkSize: 256 << 10})
		if err != nil {
			t.Fatal(err)
		}
		var without []string
		filter := func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("userProject") != "the-payer" && r.Header.Get("X-Goog-User-Project") != "the-payer" && r.URL.Query().Get("upload_id") == "" {
				without = append(without, r.Method+" "+r.URL.String())
			}
			return false
		}
		f.filter.Store(&filter)
		for _, content := range []string{"x", "more than Whole"} {
			if err := s.Put(t.Context(), "k", store.Bytes([]byte(content)), about); err != nil {
				t.Fatalf("%s: %v", host, err)
			}
		}
		r, _, err := s.Get(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		objects := 0
		for _, err := range s.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			objects++
		}
		if err := s.Delete(t.Context(), "k"); err != nil || objects != 1 || len(without) > 0 {
			t.Errorf("%v, %d objects, without the project: %v", err, objects, without)
		}
	}
}

func isUpload(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/upload/") }

// TestAFailedRequestIsOneAttempt shows that the client does not retry by itself, and that Retry
// sends the body again.
func TestAFailedRequestIsOneAttempt(t *testing.T) {
	f := newFake(t)
	s := f.open(t, Options{})
	body := store.Bytes(bytes.Repeat([]byte("x"), 300_000))
	var refused atomic.Int32
	restore := f.refuse(func(r *http.Request) bool { return isUpload(r) && refused.Add(1) > 0 }, 503)
	if err := s.Put(t.Context(), "k", body, about); err == nil || store.IsPermanent(err) || refused.Load() != 1 {
		t.Errorf("%v after %d requests", err, refused.Load())
	}
	restore()
	refused.Store(0)
	defer f.refuse(func(r *http.Request) bool { return isUpload(r) && refused.Add(1) <= 2 }, 503)()
	if err := store.Retry(s, store.RetryOptions{First: 1}).Put(t.Context(), "k", body, about); err != nil || refused.Load() != 3 {
		t.Errorf("%v after %d requests", err, refused.Load())
	}
}

// TestServerRefusesOtherBytes lets the store send a checksum that the bytes do not have, as if they
// were damaged on their way.
func TestServerRefusesOtherBytes(t *testing.T) {
	f := newFake(t)
	s := f.open(t, Options{})
	filter := func(_ http.ResponseWriter, r *http.Request) bool {
		if isUpload(r) {
			b, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(bytes.Replace(b, []byte("some content"), []byte("some CONTENT"), 1)))
		}
		return false
	}
	f.filter.Store(&filter)
	if err := s.Put(t.Context(), "k", store.Bytes([]byte("some content")), about); err == nil {
		t.Error("an object with other bytes was accepted")
	}
	f.filter.Store(nil)
	if _, _, err := s.Get(t.Context(), "k"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	f := newFake(t)
	s := f.open(t, Options{})
	for _, c := range []struct {
		status    int
		permanent bool
		says      string
	}{
		{403, true, "Storage Object User"},
		{401, true, "Storage Object User"},
		{404, true, "make the bucket"},
		{400, true, "400"},
		{412, true, "412"},
		{408, false, "408"},
		{410, false, "410"},
		{429, false, "429"},
		{500, false, "500"},
		{503, false, "503"},
	} {
		restore := f.refuse(func(*http.Request) bool { return true }, c.status)
		err := s.Put(t.Context(), "k", store.Bytes([]byte("x")), about)
		restore()
		if err == nil || store.IsPermanent(err) != c.permanent || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d: permanent %v: %v", c.status, store.IsPermanent(err), err)
		}
	}
	f.Close()
	if err := s.Put(t.Context(), "k", store.Bytes([]byte("x")), about); err == nil || store.IsPermanent(err) {
		t.Errorf("a server that is down: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	const secret = "swordfish"
	for says, o := range map[string]Options{
		"bucket":              {},
		"CredentialsFile":     {Bucket: bucket, CredentialsFile: "missing"},
		"Anonymous needs no":  {Bucket: bucket, Anonymous: true, CredentialsFile: "x"},
		"ChunkSize is 1,":     {Bucket: bucket, ChunkSize: 1},
		"Whole is -1":         {Bucket: bucket, Whole: -1},
		"the prefix":          {Bucket: bucket, Prefix: "a//b"},
		"form https":          {Bucket: bucket, Endpoint: "host:1"},
		"more than scheme":    {Bucket: bucket, Endpoint: "https://u:" + secret + "@host"},
		"3 to 222 lower-case": {Bucket: "a/b/c"},
	} {
		_, err := Open(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v, want %q", o, err, says)
		}
	}
}

func TestNothingShowsCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "account.json")
	account, err := json.Marshal(map[string]string{"type": "service_account", "private_key": "swordfish", "client_email": "a@b"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, account, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Bucket: bucket, Prefix: "p", CredentialsFile: file, Endpoint: "http://127.0.0.1:1"})
	if err == nil {
		if want := "gs://orders-archive/p at 127.0.0.1:1"; s.String() != want {
			t.Errorf("%q, want %q", s, want)
		}
		err = s.Check(t.Context())
	}
	if err == nil || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("%v", err)
	}
}

// discard answers uploads and keeps nothing, so that the benchmark measures the client alone.
func discard(w http.ResponseWriter, r *http.Request) {
	buf := make([]byte, 64<<10)
	for {
		if _, err := r.Body.Read(buf); err != nil {
			break
		}
	}
	if r.URL.Query().Get("upload_id") == "" {
		w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"?uploadType=resumable&upload_id=u")
	} else if strings.HasSuffix(r.Header.Get("Content-Range"), "/*") {
		w.Header().Set("X-Http-Status-Code-Override", "308")
	}
	fmt.Fprint(w, `{"kind":"storage#object","name":"k"}`)
}

func BenchmarkPut9MiB(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(discard))
	defer server.Close()
	for name, o := range map[string]Options{"whole": {}, "chunks": {Whole: 1 << 20}} {
		b.Run(name, func(b *testing.B) {
			s := (&fake{Server: server}).open(b, o)
			body := store.Bytes(bytes.Repeat([]byte("0123456789abcdef"), 9<<16))
			b.ReportAllocs()
			b.SetBytes(body.Size())
			for b.Loop() {
				if err := s.Put(context.Background(), "k", body, about); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
