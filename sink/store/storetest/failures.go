// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/store"
)

// atomicReplace has writers replace one object while readers look: each must see one version,
// whole, with the About of that version.
func atomicReplace(t *trial) {
	const key, versions, rounds = "atomic/object", 4, 6
	contents := make([][]byte, versions)
	for v := range contents {
		contents[v] = noise(100_000+v*30_000, uint64(v))
	}
	t.put(key, contents[0], sample(0))
	version := func(info store.Info) (int, error) {
		for v := range contents {
			if info.Size == int64(len(contents[v])) && info.HasAbout && info.About == sample(v) {
				return v, nil
			}
		}
		return 0, fmt.Errorf("size and About belong to no one version: %+v", info)
	}
	read := func() error {
		got, info, err := t.get(t.ctx, key)
		if err != nil {
			return fmt.Errorf("Get beside writers: %w", err)
		}
		v, err := version(info)
		if err == nil && !bytes.Equal(got, contents[v]) {
			err = fmt.Errorf("the bytes are not those of version %d, which the information describes", v)
		}
		return err
	}
	look := func() error {
		n := 0
		for info, err := range t.s.List(t.ctx, key) {
			if err != nil {
				return fmt.Errorf("List beside writers: %w", err)
			}
			if _, err := version(info); err != nil {
				return fmt.Errorf("List: %w", err)
			}
			n++
		}
		if n != 1 {
			return fmt.Errorf("List beside writers has %d objects, want 1", n)
		}
		return nil
	}
	var writing atomic.Int32
	writing.Store(2)
	t.beside(4, func(g int) error {
		if g < 2 {
			defer writing.Add(-1)
			for i := range rounds {
				v := (g*2 + i) % versions
				if err := t.s.Put(t.ctx, key, store.Bytes(contents[v]), sample(v)); err != nil {
					return err
				}
			}
			return nil
		}
		for writing.Load() > 0 {
			if err := errors.Join(read(), look()); err != nil {
				return err
			}
		}
		return nil
	})
}

// cancelled calls each method with a context that is done.
func cancelled(t *trial) {
	t.put("kept", []byte("kept"), sample(1))
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	var listed error
	for _, err := range t.s.List(ctx, "") {
		listed = err
	}
	_, _, err := t.get(ctx, "kept")
	for method, err := range map[string]error{
		"Put": t.s.Put(ctx, "new", store.Bytes([]byte("x")), sample(1)), "replacing Put": t.s.Put(ctx, "kept", store.Bytes([]byte("x")), sample(2)),
		"Get": err, "List": listed, "Delete": t.s.Delete(ctx, "kept"), "Check": t.s.Check(ctx),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", method, err)
		}
	}
	t.absent("new")
	t.want("kept", []byte("kept"), sample(1))
}

// spy is a body that calls back before it reads at or beyond an offset, and notes reads that come
// after it was retired.
type spy struct {
	store.Body
	off     int64
	at      func() error // its error, if there is one, is that of ReadAt
	once    sync.Once
	mu      sync.Mutex
	retired bool
	late    int
}

func (s *spy) ReadAt(p []byte, off int64) (n int, err error) {
	s.mu.Lock()
	if s.retired {
		s.late++
	}
	s.mu.Unlock()
	if off+int64(len(p)) > s.off {
		if s.once.Do(func() { err = s.at() }); err != nil {
			return 0, err
		}
	}
	return s.Body.ReadAt(p, off)
}

func (s *spy) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
}

// putSpied puts a body and checks that it is not read when Put has returned. It waits a moment
// before it looks: a client's goroutine that reads on may need one. A store that passes by luck
// fails the next time.
func (t *trial) putSpied(ctx context.Context, key string, body *spy) error {
	err := t.s.Put(ctx, key, body, sample(9))
	body.retire()
	time.Sleep(10 * time.Millisecond)
	body.mu.Lock()
	defer body.mu.Unlock()
	if body.late > 0 {
		t.Errorf("Put(%q) read the body %d times after it had returned", key, body.late)
	}
	return err
}

// sizes are those of a small object and of one of several parts.
func (t *trial) sizes() map[string]int { return map[string]int{"small": 100_000, "large": t.Large} }

func cancelledInBody(t *trial) {
	for name, size := range t.sizes() {
		content := noise(size, 3)
		for _, key := range []string{name + "/new", name + "/old"} {
			if key == name+"/old" {
				t.put(key, []byte("old"), sample(1))
			}
			ctx, cancel := context.WithCancel(t.ctx)
			body := &spy{Body: store.Bytes(content), off: int64(size / 2), at: func() error { cancel(); return nil }}
			if err := t.putSpied(ctx, key, body); !errors.Is(err, context.Canceled) {
				t.Errorf("Put(%q) that is cancelled in the body's middle: %v", key, err)
			}
			cancel()
		}
		t.absent(name + "/new")
		t.want(name+"/old", []byte("old"), sample(1))
	}
}

func bodyFails(t *trial) {
	broken := errors.New("the body is broken")
	for name, size := range t.sizes() {
		t.put(name+"/old", []byte("old"), sample(1))
		content := store.Bytes(noise(size, 4))
		for where, off := range map[string]int{"start": 0, "middle": size / 2, "end": size - 1} {
			for _, key := range []string{name + "/new", name + "/old"} {
				body := &spy{Body: content, off: int64(off), at: func() error { return broken }}
				if err := t.putSpied(t.ctx, key, body); !errors.Is(err, broken) {
					t.Errorf("Put(%q) of a body that fails at its %s: %v", key, where, err)
				}
			}
		}
		t.absent(name + "/new")
		t.want(name+"/old", []byte("old"), sample(1))
	}
}

// short is a body that ends before its size.
type short struct {
	store.Body
	size int64
}

func (s short) Size() int64 { return s.size }

func bodyShort(t *trial) {
	for name, size := range t.sizes() {
		t.put(name+"/old", []byte("old"), sample(1))
		body := short{store.Bytes(noise(size, 5)), int64(size) + 1}
		for _, key := range []string{name + "/new", name + "/old"} {
			if err := t.s.Put(t.ctx, key, body, sample(2)); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("Put(%q) of a body that is too short: %v", key, err)
			}
		}
		t.absent(name + "/new")
		t.want(name+"/old", []byte("old"), sample(1))
	}
}

// lying is a body with another checksum than its bytes have.
type lying struct{ store.Body }

func (l lying) CRC32C() uint32 { return l.Body.CRC32C() ^ 1 }

func wrongChecksum(t *trial) {
	for name, size := range map[string]int{"empty": 0, "small": 100_000, "large": t.Large} {
		t.put(name+"/old", []byte("old"), sample(1))
		body := lying{store.Bytes(noise(size, 6))}
		for _, key := range []string{name + "/new", name + "/old"} {
			if err := t.s.Put(t.ctx, key, body, sample(2)); !errors.Is(err, store.ErrChecksum) || !store.IsPermanent(err) {
				t.Errorf("Put(%q) of a body with a wrong checksum: %v, want a permanent ErrChecksum", key, err)
			}
		}
		t.absent(name + "/new")
		t.want(name+"/old", []byte("old"), sample(1))
	}
}

func check(t *trial) {
	t.put("a", []byte("a"), sample(1))
	for range 2 {
		if err := t.s.Check(t.ctx); err != nil {
			t.Errorf("Check: %v", err)
		}
	}
	if got := t.keys(""); len(got) != 1 {
		t.Errorf("Check left %q", got)
	}
}

// goroutines has each method called by many goroutines at once, on keys of their own in folders
// that they share.
func goroutines(t *trial) {
	t.beside(8, func(g int) error {
		for i := range 4 {
			key := fmt.Sprintf("shared/%d/g%d", i, g)
			content := noise(1000*(g+1), uint64(g))
			if err := t.s.Put(t.ctx, key, store.Bytes(content), sample(g)); err != nil {
				return err
			}
			got, _, err := t.get(t.ctx, key)
			if err != nil || !bytes.Equal(got, content) {
				return fmt.Errorf("Get(%q) = %d bytes, %w", key, len(got), err)
			}
			for _, err := range t.s.List(t.ctx, fmt.Sprintf("shared/%d/", i)) {
				if err != nil {
					return err
				}
			}
			if err := t.s.Delete(t.ctx, key); err != nil {
				return err
			}
			if _, _, err := t.get(t.ctx, key); !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("Get(%q) after Delete: %w", key, err)
			}
		}
		return nil
	})
	if got := t.keys(""); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

// testLies puts objects through a Lying. A Put that returns nil has stored the object, and one that
// was not confirmed may be repeated.
func testLies(t *testing.T, s Suite) {
	l := &Lying{}
	opened := s.OpenThrough(t, func(server http.RoundTripper) http.RoundTripper {
		l.Server = server
		return l
	})
	defer opened.Close()
	tr := &trial{T: t, Suite: s, s: opened, ctx: t.Context()}
	for name, size := range tr.sizes() {
		content, old := noise(size, 7), noise(size, 8)
		l.Tell(nil, 0)
		tr.put(name, old, sample(1))
		requests := l.Uploads()
		for i, lie := range Lies() {
			for at := range requests + 1 {
				key := []string{name, name + "/new"}[(i+at)%2]
				l.Tell(&lie, at)
				err := opened.Put(tr.ctx, key, store.Bytes(content), sample(2))
				l.Tell(nil, 0)
				if tr.wantHonest(fmt.Sprintf("%s, %s, request %d of %d", key, lie.Name, at, requests), key, content, err) {
					tr.putBack(key, old)
				}
			}
		}
	}
	if s.Left != nil {
		for _, what := range s.Left(t, opened) {
			t.Errorf("left behind: %s", what)
		}
	}
}

// wantHonest checks what a Put returned whose server has lied, and reports whether the object was
// stored.
func (t *trial) wantHonest(what, key string, content []byte, err error) (stored bool) {
	t.Helper()
	if err != nil {
		if store.IsPermanent(err) {
			t.Errorf("%s: the error is permanent: %v", what, err)
		}
		return false
	}
	if got, _, err := t.get(t.ctx, key); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%s: Put returned nil, but the store has %d bytes, %v", what, len(got), err)
	}
	return true
}

// putBack has a key as it was before a lie: without an object, or with the old one.
func (t *trial) putBack(key string, old []byte) {
	t.Helper()
	if !strings.HasSuffix(key, "/new") {
		t.put(key, old, sample(1))
	} else if err := t.s.Delete(t.ctx, key); err != nil {
		t.Fatal(err)
	}
}
