// SPDX-License-Identifier: Apache-2.0

package s3store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"

	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/storetest"
)

const bucket = "orders-archive"

// fake is an S3 server in this process. Filter sees each request first, and returns true if it has
// answered.
type fake struct {
	*httptest.Server
	filter atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	mu     sync.Mutex
	seen   []string // method, path and query of each request
}

func newFake(t testing.TB) *fake {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(backend).Server()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery)
		f.mu.Unlock()
		if filter := f.filter.Load(); filter != nil && (*filter)(w, r) {
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// refuse makes requests that match fail with a status and code, until the returned function is
// called.
func (f *fake) refuse(match func(*http.Request) bool, status int, code string) (restore func()) {
	filter := func(w http.ResponseWriter, r *http.Request) bool {
		if !match(r) {
			return false
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused by the test</Message></Error>", code)
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

const secret = "the-secret-key-that-nothing-shows"

// open opens a store on the fake, with keys from files.
func (f *fake) open(t testing.TB, change func(*Options)) *Store {
	t.Helper()
	dir := t.TempDir()
	o := Options{
		Bucket: bucket, Prefix: "/kafka/", Endpoint: f.URL, Region: "us-east-1", PathStyle: true, PartSize: minPartSize,
		AccessKeyFile: filepath.Join(dir, "access"), SecretKeyFile: filepath.Join(dir, "secret"),
	}
	for name, key := range map[string]string{o.AccessKeyFile: "access", o.SecretKeyFile: secret + "\n"} {
		if err := os.WriteFile(name, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s.pageSize, s.partPause = 50, time.Millisecond
	return s
}

// uploads lists the multipart uploads that were neither completed nor aborted.
func uploads(t testing.TB, s *Store) (open []string) {
	t.Helper()
	list, err := s.core.ListMultipartUploads(context.Background(), bucket, "", "", "", "", 100)
	if minio.ToErrorResponse(err).Code == "NoSuchUpload" {
		return nil // so the fake answers for a bucket that never had one
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list.Uploads {
		open = append(open, "an upload of "+u.Key)
	}
	return open
}

func TestConformance(t *testing.T) {
	storetest.Suite{
		Open: func(t *testing.T) store.Store { return newFake(t).open(t, nil) },
		OpenThrough: func(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) store.Store {
			return newFake(t).open(t, func(o *Options) { o.wrapper = wrap })
		},
		Left:  func(t *testing.T, s store.Store) []string { return uploads(t, s.(*Store)) },
		Large: minPartSize + 1<<20,
	}.Run(t)
}

var about = store.About{ContentType: "text/plain", Topic: "orders", Group: "g"}

func isPart(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Has("partNumber")
}

// TestFailuresAbort makes each kind of request of a multipart upload fail: no upload stays open and
// no object appears.
func TestFailuresAbort(t *testing.T) {
	f := newFake(t)
	s := f.open(t, nil)
	body := store.Bytes(bytes.Repeat([]byte("x"), 2*minPartSize+1))
	for name, match := range map[string]func(*http.Request) bool{
		"initiate": func(r *http.Request) bool { return r.URL.Query().Has("uploads") && r.Method == http.MethodPost },
		"part 2":   func(r *http.Request) bool { return isPart(r) && r.URL.Query().Get("partNumber") == "2" },
		"complete": func(r *http.Request) bool { return r.URL.Query().Has("uploadId") && r.Method == http.MethodPost },
	} {
		restore := f.refuse(match, http.StatusServiceUnavailable, "SlowDown")
		if err := s.Put(t.Context(), "k", body, about); err == nil || store.IsPermanent(err) {
			t.Errorf("%s refused: %v", name, err)
		}
		restore()
		if open := uploads(t, s); len(open) > 0 {
			t.Errorf("%s refused: left %q", name, open)
		}
		if _, _, err := s.Get(t.Context(), "k"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s refused: %v", name, err)
		}
	}
	if err := s.Put(t.Context(), "k", body, about); err != nil {
		t.Error(err)
	}
}

// TestAPartIsSentAgain refuses one part twice: the other part is sent once, by the same upload.
func TestAPartIsSentAgain(t *testing.T) {
	f := newFake(t)
	s := f.open(t, nil)
	var refused atomic.Int32
	defer f.refuse(func(r *http.Request) bool {
		return isPart(r) && r.URL.Query().Get("partNumber") == "2" && refused.Add(1) < partAttempts
	}, http.StatusServiceUnavailable, "SlowDown")()
	body := store.Bytes(bytes.Repeat([]byte("x"), 2*minPartSize))
	if err := s.Put(t.Context(), "k", body, about); err != nil {
		t.Fatal(err)
	}
	if begun, first, second := f.count("?uploads="), f.count("partNumber=1&"), f.count("partNumber=2&"); begun != 1 || first != 1 || second != partAttempts {
		t.Errorf("%d uploads, part 1 sent %d times, part 2 %d times", begun, first, second)
	}
	_, info, err := s.Get(t.Context(), "k")
	if err != nil || info.Size != body.Size() {
		t.Error(info, err)
	}
}

// TestAbortThatFails names what stays.
func TestAbortThatFails(t *testing.T) {
	f := newFake(t)
	s := f.open(t, nil)
	restore := f.refuse(func(r *http.Request) bool { return isPart(r) || r.Method == http.MethodDelete }, 503, "SlowDown")
	defer restore()
	err := s.Put(t.Context(), "k", store.Bytes(make([]byte, minPartSize)), about)
	if err == nil || !strings.Contains(err.Error(), "its parts stay in the bucket") {
		t.Error(err)
	}
}

func TestSizesAndRequests(t *testing.T) {
	f := newFake(t)
	s := f.open(t, nil)
	for _, c := range []struct{ size, parts int }{{0, 0}, {1, 0}, {minPartSize - 1, 0}, {minPartSize, 1}, {minPartSize + 1, 2}, {3 * minPartSize, 3}} {
		before := f.count("partNumber=")
		if err := s.Put(t.Context(), "k", store.Bytes(make([]byte, c.size)), about); err != nil {
			t.Fatal(err)
		}
		if n := f.count("partNumber=") - before; n != c.parts {
			t.Errorf("%d bytes in %d parts, want %d", c.size, n, c.parts)
		}
	}
}

// TestSendsChecksums looks at the headers: the fake does not know them.
func TestSendsChecksums(t *testing.T) {
	f := newFake(t)
	s := f.open(t, nil)
	var mu sync.Mutex
	whole, parts, complete := "", 0, ""
	filter := func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		crc := r.Header.Get("X-Amz-Checksum-Crc32c")
		switch {
		case isPart(r) && crc != "":
			parts++
		case r.Method == http.MethodPut:
			whole = crc
		case r.Method == http.MethodPost && r.URL.Query().Has("uploadId"):
			complete = crc
		}
		return false
	}
	f.filter.Store(&filter)
	small, large := store.Bytes([]byte("small")), store.Bytes(bytes.Repeat([]byte("large"), minPartSize/4))
	for _, b := range []store.Body{small, large} {
		if err := s.Put(t.Context(), "k", b, about); err != nil {
			t.Fatal(err)
		}
	}
	if whole != encode(small.CRC32C()) || parts != 2 || complete != encode(large.CRC32C()) {
		t.Errorf("PUT %q, %d parts, completion %q", whole, parts, complete)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	f := newFake(t)
	s := f.open(t, nil)
	all := func(*http.Request) bool { return true }
	for _, c := range []struct {
		status    int
		code      string
		permanent bool
		says      string
	}{
		{403, "AccessDenied", true, "s3:PutObject"},
		{404, "NoSuchBucket", true, "make the bucket"},
		{400, "InvalidArgument", true, "InvalidArgument"},
		{503, "SlowDown", false, "SlowDown"},
		{500, "InternalError", false, "InternalError"},
		{429, "TooManyRequests", false, "refused"},
		{400, "BadDigest", false, "BadDigest"},
		{400, "ExpiredToken", false, "ExpiredToken"},
		{403, "RequestTimeTooSkewed", false, "RequestTimeTooSkewed"},
	} {
		restore := f.refuse(all, c.status, c.code)
		err := s.Check(t.Context())
		restore()
		if err == nil || store.IsPermanent(err) != c.permanent || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d %s: permanent %v: %v", c.status, c.code, store.IsPermanent(err), err)
		}
	}
	f.Close()
	if err := s.Put(t.Context(), "k", store.Bytes(nil), about); err == nil || store.IsPermanent(err) {
		t.Errorf("a server that is down: %v", err)
	}
}

func TestMetadataTooLarge(t *testing.T) {
	s := newFake(t).open(t, nil)
	a := about
	a.Group = strings.Repeat("é", 2000)
	if err := s.Put(t.Context(), "k", store.Bytes(nil), a); !store.IsPermanent(err) || !strings.Contains(err.Error(), "group 4000") {
		t.Error(err)
	}
}

func TestNothingShowsSecrets(t *testing.T) {
	f := newFake(t)
	s := f.open(t, nil)
	defer f.refuse(func(*http.Request) bool { return true }, 403, "SignatureDoesNotMatch")()
	err := s.Check(t.Context())
	for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), s.String(), fmt.Sprintf("%v", s.o)} {
		if strings.Contains(text, secret) {
			t.Errorf("shows the key: %s", text)
		}
	}
	if want := "s3://orders-archive/kafka at " + strings.TrimPrefix(f.URL, "http://"); s.String() != want {
		t.Errorf("%q, want %q", s, want)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for says, o := range map[string]Options{
		"bucket":                     {},
		"belong together":            {Bucket: bucket, AccessKeyFile: "x"},
		"no such file":               {Bucket: bucket, AccessKeyFile: "missing", SecretKeyFile: "missing"},
		"PartSize is 1":              {Bucket: bucket, PartSize: 1},
		"Concurrency is -1":          {Bucket: bucket, Concurrency: -1},
		"form https":                 {Bucket: bucket, Endpoint: "ftp://host"},
		"more than scheme":           {Bucket: bucket, Endpoint: "https://user:" + secret + "@host"},
		"the prefix":                 {Bucket: bucket, Prefix: "a/../b"},
		"CAFile":                     {Bucket: bucket, CAFile: "missing"},
		"Anonymous needs no":         {Bucket: bucket, Anonymous: true, AccessKeyFile: "a", SecretKeyFile: "b"},
		"bucket \"\": Bucket name c": {PartSize: 1},
	} {
		_, err := Open(o)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v, want %q", o, err, says)
		}
	}
}

func TestKeysFromTheEnvironment(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "from-environment")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_REGION", "eu-north-1")
	f := newFake(t)
	s := f.open(t, func(o *Options) { o.AccessKeyFile, o.SecretKeyFile, o.Region = "", "", "" })
	var signed atomic.Bool
	filter := func(_ http.ResponseWriter, r *http.Request) bool {
		signed.Store(strings.Contains(r.Header.Get("Authorization"), "Credential=from-environment/") &&
			strings.Contains(r.Header.Get("Authorization"), "/eu-north-1/s3/"))
		return false
	}
	f.filter.Store(&filter)
	if err := s.Put(t.Context(), "k", store.Bytes(nil), about); err != nil || !signed.Load() {
		t.Errorf("signed with key and region of the environment: %v, %v", signed.Load(), err)
	}
}

// discard answers PUT requests and keeps nothing, so that the benchmark measures the client alone.
func discard(w http.ResponseWriter, r *http.Request) {
	buf := make([]byte, 64<<10)
	for {
		if _, err := r.Body.Read(buf); err != nil {
			break
		}
	}
	w.Header().Set("ETag", `"x"`)
	w.Header().Set("X-Amz-Checksum-Crc32c", r.Header.Get("X-Amz-Checksum-Crc32c"))
	switch q := r.URL.Query(); {
	case q.Has("uploads"):
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPost:
		fmt.Fprint(w, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
	}
}

func BenchmarkPut9MiB(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(discard))
	defer server.Close()
	for name, partSize := range map[string]int64{"whole": 16 << 20, "parts": minPartSize} {
		b.Run(name, func(b *testing.B) {
			s := (&fake{Server: server}).open(b, func(o *Options) { o.PartSize = partSize })
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

// TestConfirmation takes checksums from the server's answers, one kind after another. Each object is
// confirmed by what is left.
func TestConfirmation(t *testing.T) {
	f := newFake(t)
	var without, with atomic.Pointer[string] // the methods whose answers lose their ETag, and get a CRC32C
	s := f.open(t, func(o *Options) {
		o.wrapper = func(server http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				answer, err := server.RoundTrip(r)
				if err == nil && strings.Contains(*without.Load(), r.Method) && !r.URL.Query().Has("partNumber") {
					answer.Header.Set("ETag", `"0"`)
					answer.Header.Del("X-Amz-Checksum-Crc32c") // The fake returns what the upload's header had.
					if r.URL.Query().Has("uploadId") {
						b, _ := io.ReadAll(answer.Body)
						answer.Body = io.NopCloser(bytes.NewReader(regexp.MustCompile("<ETag>[^<]*</ETag>").ReplaceAll(b, nil)))
					}
				}
				if err == nil && strings.Contains(*with.Load(), r.Method) {
					answer.Header.Set("X-Amz-Checksum-Crc32c", r.Header.Get("X-Amz-Checksum-Crc32c"))
				}
				return answer, err
			})
		}
	})
	none, put, all := "", "PUT", "PUT POST HEAD"
	for _, body := range []store.Body{store.Bytes([]byte("small")), store.Bytes(bytes.Repeat([]byte("large"), minPartSize/4))} {
		for _, c := range []struct {
			without, with *string
			want          store.Confirmation
		}{{&none, &none, store.ByMD5}, {&all, &none, store.ByReading}, {&all, &put, store.ByAnswer}} {
			without.Store(c.without)
			with.Store(c.with)
			if body.Size() > minPartSize && c.with == &put {
				continue // The completion would have the checksum, in its document.
			}
			s.confirmed.Store(0)
			if err := s.Put(t.Context(), fmt.Sprint("k", body.Size()), body, about); err != nil || store.ConfirmationOf(store.Retry(s, store.RetryOptions{})) != c.want {
				t.Errorf("%d bytes, no ETag from %q, CRC32C from %q: %v, %v; want %v", body.Size(), *c.without, *c.with, s.Confirmation(), err, c.want)
			}
		}
		noETag := "PUT POST"
		without.Store(&noETag)
		with.Store(&none)
		if err := s.Put(t.Context(), fmt.Sprint("k", body.Size()), body, about); err != nil || s.Confirmation() != store.ByInquiry {
			t.Errorf("%d bytes, ETag from HEAD alone: %v, %v", body.Size(), s.Confirmation(), err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestCompareComposite has the checksums of multipart uploads from servers that compute none of full
// objects. AWS documents the form; the values are computed here with hash/crc32 alone.
func TestCompareComposite(t *testing.T) {
	body := store.Bytes(bytes.Repeat([]byte("0123456789"), 100))
	parts, err := store.Split(body, 600)
	if err != nil {
		t.Fatal(err)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	var sums []byte
	for _, p := range [][]byte{bytes.Repeat([]byte("0123456789"), 60), bytes.Repeat([]byte("0123456789"), 40)} {
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(p, table))
	}
	composite := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.Checksum(sums, table))) + "-2"
	u := upload{body, parts}
	for crc, want := range map[string]store.Confirmation{
		composite: store.ByAnswer, encode(body.CRC32C()): store.ByAnswer, "": 0,
		strings.TrimSuffix(composite, "-2"): -1, strings.Replace(composite, "-2", "-3", 1): -1, "AAAAAA==": -1,
	} {
		by, err := u.compare(answer{crc: crc})
		if by != max(want, 0) || errors.Is(err, store.ErrUnconfirmed) != (want < 0) {
			t.Errorf("%q: %v, %v, want %v", crc, by, err, want)
		}
	}
}
