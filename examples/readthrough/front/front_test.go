// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

// fronts calls f with each Front, on the embedded server.
func fronts(t *testing.T, f func(t *testing.T, f Front, s *Embedded)) {
	for _, name := range []string{"plain", "cached"} {
		t.Run(name, func(t *testing.T) {
			s, err := NewEmbedded()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r := NewRedis(s.Address())
			defer r.Close()
			var front Front = NewPlain(r, 1<<20)
			if name == "cached" {
				if front, err = NewCached(r, 1<<20); err != nil {
					t.Fatal(err)
				}
			}
			defer front.Close()
			f(t, front, s)
		})
	}
}

// TestGet: the value is appended, is Redis's, and is asked for once.
func TestGet(t *testing.T) {
	fronts(t, func(t *testing.T, f Front, _ *Embedded) {
		want := append([]byte("to: "), appendValue(nil, []byte("page:7"))...)
		for range 3 {
			got, err := f.Get(t.Context(), []byte("to: "), []byte("page:7"))
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes, error %v", len(got), err)
			}
		}
		if n := f.Loads(); n != 1 {
			t.Errorf("%d loads", n)
		}
		if got, err := f.Get(t.Context(), []byte("x"), []byte("none")); err != ErrNil || string(got) != "x" {
			t.Errorf("a key without a value: %q, %v", got, err)
		}
	})
}

// TestBound: a Front keeps no more than it may, and the popular keys.
func TestBound(t *testing.T) {
	fronts(t, func(t *testing.T, f Front, _ *Embedded) {
		l := Load{Keys: 5000, Requests: 20_000, Goroutines: 3}
		sum, latency, err := l.Run(t.Context(), f)
		n := 0
		for _, k := range latency {
			n += k
		}
		if err != nil || n != l.Requests || sum == 0 {
			t.Errorf("%d requests, sum %x, error %v", n, sum, err)
		}
		if share := float64(f.Loads()) / float64(l.Requests); share < 0.05 || share > 0.6 {
			t.Errorf("%.2f of the requests were loads", share)
		}
		switch f := f.(type) {
		case *Plain:
			if f.bytes > 1<<20 || f.bytes < 1<<19 || f.used.Len() != len(f.by) {
				t.Errorf("%d bytes, %d in the list, %d in the map", f.bytes, f.used.Len(), len(f.by))
			}
		case *Cached:
			if s := f.c.Stats(); s.BytesHeld > 1<<20 || s.Evicted == 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// TestServerGone: values that are kept outlive the server, and others are errors.
func TestServerGone(t *testing.T) {
	fronts(t, func(t *testing.T, f Front, s *Embedded) {
		if _, err := f.Get(t.Context(), nil, []byte("page:1")); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if v, err := f.Get(t.Context(), nil, []byte("page:1")); err != nil || len(v) != ValueSize {
			t.Errorf("%d bytes, error %v", len(v), err)
		}
		if v, err := f.Get(t.Context(), []byte("x"), []byte("page:2")); err == nil || err == ErrNil || string(v) != "x" {
			t.Errorf("%q, error %v", v, err)
		}
	})
}

// TestReplies: what a server may answer, and what it may not.
func TestReplies(t *testing.T) {
	for reply, want := range map[string]string{
		"+OK\r\n":          "OK",
		":12\r\n":          "12",
		"$3\r\na\r\n\r\n":  "a\r\n",
		"$0\r\n\r\n":       "",
		"$-1\r\n":          "error front: no value",
		"-ERR no\r\n":      "error front: Redis: ERR no",
		"$3\r\nab":         "error unexpected EOF",
		"$-2\r\n":          "error front: a reply of",
		"$99999999999\r\n": "error front: a reply of",
		"*1\r\n":           "error front: unknown reply",
		"\r\n":             "error front: bad line",
		"+OK\n":            "error front: bad line",
		"":                 "error EOF",
	} {
		b, err := readReply(bufio.NewReader(strings.NewReader(reply)), nil)
		got := string(b)
		if err != nil {
			got = "error " + err.Error()
		}
		if got != want && !(err != nil && strings.HasPrefix(got, want)) {
			t.Errorf("%q gives %q, want %q", reply, got, want)
		}
	}
}

// TestConnections: a connection is used again after an answer, errors included, and closed after
// anything else.
func TestConnections(t *testing.T) {
	s, err := NewEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := NewRedis(s.Address())
	defer r.Close()
	var refused replyError
	if err := r.Set(t.Context(), []byte("a"), nil); !errors.As(err, &refused) || len(r.idle) != 1 {
		t.Errorf("%v, %d idle connections", err, len(r.idle))
	}
	if _, err := r.Get(t.Context(), nil, []byte("a")); err != ErrNil || len(r.idle) != 1 {
		t.Errorf("%v, %d idle connections", err, len(r.idle))
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0") // Accepts and never answers.
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r = NewRedis(silent.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if c, err := silent.Accept(); err == nil {
			defer c.Close()
			c.Read(make([]byte, 1))
			cancel()
			c.Read(make([]byte, 1<<10)) // The rest of the command, and then the end.
			c.Read(make([]byte, 1))
		}
	}()
	if _, err := r.Get(ctx, nil, []byte("a")); !errors.Is(err, context.Canceled) || len(r.idle) != 0 {
		t.Errorf("%v, %d idle connections", err, len(r.idle))
	}
}
