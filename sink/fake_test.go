// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/partition/objectkey"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
	"github.com/freehold-go/freehold/sink/store"
)

// fakeStore keeps objects in a map. Put calls before first, if it is set, and fails with its error.
type fakeStore struct {
	before func(ctx context.Context, key string) error

	mu      sync.Mutex
	objects map[string]stored
	puts    []string // keys, in the order of their success
}

type stored struct {
	content []byte
	about   store.About
}

func newFakeStore() *fakeStore { return &fakeStore{objects: map[string]stored{}} }

func (s *fakeStore) Put(ctx context.Context, key string, body store.Body, about store.About) error {
	if s.before != nil {
		if err := s.before(ctx, key); err != nil {
			return err
		}
	}
	content, err := io.ReadAll(io.NewSectionReader(body, 0, body.Size()))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = stored{content, about}
	s.puts = append(s.puts, key)
	return nil
}

func (s *fakeStore) Get(context.Context, string) (io.ReadCloser, store.Info, error) {
	return nil, store.Info{}, errors.ErrUnsupported
}
func (s *fakeStore) List(context.Context, string) iter.Seq2[store.Info, error] { return nil }
func (s *fakeStore) Delete(context.Context, string) error                      { return nil }
func (s *fakeStore) Check(context.Context) error                               { return nil }
func (s *fakeStore) String() string                                            { return "a fake store" }
func (s *fakeStore) Close() error                                              { return nil }

// keys are the keys of all objects, in order.
func (s *fakeStore) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for k := range s.objects {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// lines are the lines of an object.
func (s *fakeStore) lines(t *testing.T, codec compress.Codec, key string) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	if !ok {
		t.Fatalf("no object %s", key)
	}
	r, err := codec.NewReader(bytes.NewReader(o.content))
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	if int64(len(lines)) != o.about.Records {
		t.Errorf("%s: %d lines, but %d records", key, len(lines), o.about.Records)
	}
	return lines
}

// fakeSource hands out what the test sends to it, one step after the other.
type fakeSource struct {
	steps  chan func(ctx context.Context, h source.Handler)
	refuse func(p source.Partition, at source.Position) error

	mu        sync.Mutex
	committed map[source.Partition]int64
	metadata  map[source.Partition]string // beside it
	commits   int
}

func newFakeSource() *fakeSource {
	return &fakeSource{steps: make(chan func(context.Context, source.Handler)), committed: map[source.Partition]int64{}, metadata: map[source.Partition]string{}}
}

func (s *fakeSource) Run(ctx context.Context, h source.Handler) error {
	for {
		select {
		case step := <-s.steps:
			step(ctx, h)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *fakeSource) Commit(_ context.Context, positions map[source.Partition]source.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, at := range positions {
		if s.refuse != nil {
			if err := s.refuse(p, at); err != nil {
				return err
			}
		}
		s.committed[p], s.metadata[p] = at.Next, at.Metadata
	}
	s.commits++
	return nil
}

func (s *fakeSource) Close() error { return nil }

func (s *fakeSource) at(p source.Partition) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.committed[p]
}

func (s *fakeSource) metadataOf(p source.Partition) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metadata[p]
}

// lineFormat writes values as lines. A value "bad" is bad.
type lineFormat struct{ held int64 }

func (lineFormat) Name() string                { return "lines/test" }
func (lineFormat) Extension() string           { return ".txt" }
func (lineFormat) ContentType() string         { return "text/plain" }
func (lineFormat) Compresses() bool            { return false }
func (lineFormat) Refuse(*record.Record) error { return nil }
func (f lineFormat) Begin(w io.Writer) (encode.Encoder, error) {
	return &lineEncoder{w, f.held}, nil
}

type lineEncoder struct {
	w    io.Writer
	held int64
}

func (e *lineEncoder) Append(r *record.Record) error {
	if string(r.Value) == "bad" {
		return record.Badf("the value is bad")
	}
	reason := ""
	for _, h := range r.Headers {
		if h.Key == RejectReason {
			reason = " (" + string(h.Value) + ")"
		}
	}
	_, err := fmt.Fprintf(e.w, "%s%s\n", r.Value, reason)
	return err
}
func (e *lineEncoder) End() error  { return nil }
func (e *lineEncoder) Held() int64 { return e.held }
func (e *lineEncoder) Free()       {}

// rejectFormat is lineFormat that takes bad values.
type rejectFormat struct{ lineFormat }

func (rejectFormat) Begin(w io.Writer) (encode.Encoder, error) { return rejectEncoder{w}, nil }

type rejectEncoder struct{ w io.Writer }

func (e rejectEncoder) Append(r *record.Record) error {
	_, err := fmt.Fprintf(e.w, "%s: %s\n", r.Value, r.Headers[len(r.Headers)-1].Value)
	return err
}
func (rejectEncoder) End() error  { return nil }
func (rejectEncoder) Held() int64 { return 0 }
func (rejectEncoder) Free()       {}

// keys makes keys with something in front.
func keys(prefix string, codec compress.Codec) *objectkey.Template {
	k, err := objectkey.Parse(prefix+"{topic}/{partition}/{group}/{offset:05}{extension}", true, Extension(lineFormat{}, codec))
	if err != nil {
		panic(err)
	}
	return k
}

// byFirst divides records by the first byte of their value.
type byFirst struct{}

func (byFirst) Group(dst []byte, r *record.Record) ([]byte, error) {
	if len(r.Value) == 0 {
		return nil, record.Badf("no value")
	}
	return append(dst, r.Value[0]), nil
}

// harness runs a sink on a fake source and a fake store.
type harness struct {
	t      *testing.T
	sink   *Sink
	source *fakeSource
	store  *fakeStore
	budget *block.Budget
	codec  compress.Codec
	stop   context.CancelFunc
	done   chan error

	mu       sync.Mutex
	released int
	handed   int
}

func start(t *testing.T, src *fakeSource, to *fakeStore, change func(*Options)) *harness {
	t.Helper()
	codec, err := compress.Parse("gzip", 1)
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, source: src, store: to, budget: block.NewBudget("test", 1<<30), codec: codec, done: make(chan error, 1)}
	o := Options{Store: to, Format: lineFormat{}, Codec: codec, Rotation: Rotation{Records: 10}, Budget: h.budget, MemberBytes: 64}
	if change != nil {
		change(&o)
	}
	h.codec, h.budget = o.Codec, o.Budget
	o.Key = keys("", o.Codec)
	o.RejectKey = keys("bad/", o.Codec)
	if h.sink, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	h.stop = stop
	go func() { h.done <- h.sink.Run(ctx, src) }()
	return h
}

// do has the source do something.
func (h *harness) do(step func(ctx context.Context, s source.Handler)) {
	done := make(chan struct{})
	select {
	case h.source.steps <- func(ctx context.Context, s source.Handler) { step(ctx, s); close(done) }:
		<-done
	case <-time.After(time.Minute):
		h.t.Error("the source does not run")
	}
}

func (h *harness) assign(p source.Partition) {
	h.do(func(_ context.Context, s source.Handler) { s.Assigned(p) })
}

// committed says what is committed.
func (h *harness) committed(p source.Partition) {
	h.do(func(_ context.Context, s source.Handler) {
		s.Committed(p, source.Position{Next: h.source.at(p), Metadata: h.source.metadataOf(p)})
	})
}

// send hands out records with these values, from an offset on.
func (h *harness) send(p source.Partition, from int64, values ...string) {
	h.do(func(_ context.Context, s source.Handler) { h.batch(s, p, from, values...) })
}

func (h *harness) batch(s source.Handler, p source.Partition, from int64, values ...string) {
	var records []record.Record
	for i, v := range values {
		records = append(records, record.Record{Topic: p.Topic, Partition: p.Number, Offset: from + int64(i), Timestamp: 1000 * (from + int64(i)), Value: []byte(v)})
	}
	h.mu.Lock()
	h.handed++
	h.mu.Unlock()
	s.Batch(p, records, source.Position{Next: from + int64(len(values))}, func() {
		for i := range records { // A sink that reads them later sees this.
			copy(records[i].Value, bytes.Repeat([]byte{'X'}, len(records[i].Value)))
		}
		h.mu.Lock()
		h.released++
		h.mu.Unlock()
	})
}

// end stops the sink and looks for what it has not given back.
func (h *harness) end() error {
	h.t.Helper()
	h.stop()
	err := <-h.done
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released != h.handed {
		h.t.Errorf("%d batches handed out, %d released", h.handed, h.released)
	}
	if used := h.budget.Used(); used != 0 {
		h.t.Errorf("%d bytes are still in flight", used)
	}
	if n := h.sink.Stats().OpenObjects; n != 0 {
		h.t.Errorf("%d objects are still open", n)
	}
	return err
}

// numbered are the values of n records from an offset on.
func numbered(prefix string, from, n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%s%d", prefix, from+i)
	}
	return values
}
