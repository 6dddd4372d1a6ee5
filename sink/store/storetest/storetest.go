// SPDX-License-Identifier: Apache-2.0

// Package storetest is the conformance suite for implementations of store.Store.
//
// # Use
//
// An implementation is right if this test passes, with the race detector, too:
//
//	func TestConformance(t *testing.T) {
//		storetest.Test(t, func(t *testing.T) store.Store { return newMine(t) })
//	}
//
// Each part of the suite opens a store of its own, which is empty, and closes it. [Suite] has more
// settings.
//
// # What it checks
//
// Objects come back as they were put, with their About, whatever characters it holds; they are
// replaced and deleted whole; a listing is complete, in order and of one prefix; keys with odd
// characters work and impossible ones are refused; readers beside writers of one key see whole
// objects only; a Put that fails, by its body, its checksum or its context, leaves the old object
// and does not touch the body afterwards; a success that the server did not confirm is not believed;
// Check leaves nothing behind; all methods may be called by
// many goroutines. What only a crash can show, such as durability, it cannot check.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/sink/store"
)

// Suite is the suite with its settings.
type Suite struct {
	// Open returns an empty store. The suite closes it.
	Open func(t *testing.T) store.Store

	// Many is the number of objects in a listing; it should be several pages of the store. Zero is
	// 120.
	Many int

	// Large is the size of the largest object, which should need several parts. Zero is 11 MiB + 1.
	Large int

	// OpenThrough returns an empty store over HTTP, whose requests go through what wrap makes of the
	// transport to a working server. The suite answers uploads by lies; see [Lying]. Nil is for stores
	// that send nothing over HTTP.
	OpenThrough func(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) store.Store

	// Left returns what failed calls have left behind beside objects, such as temporary files or
	// unfinished uploads. It is called before the store is closed, and must return nothing. Nil is
	// for stores in which nothing can be left.
	Left func(t *testing.T, s store.Store) []string
}

// Test runs the suite with its defaults.
func Test(t *testing.T, open func(t *testing.T) store.Store) { Suite{Open: open}.Run(t) }

// Run runs the suite. Each part is a subtest.
func (s Suite) Run(t *testing.T) {
	if s.Many == 0 {
		s.Many = 120
	}
	if s.Large == 0 {
		s.Large = 11<<20 + 1
	}
	for _, part := range []struct {
		name string
		run  func(*trial)
	}{
		{"PutGetReplaceDelete", putGetReplaceDelete},
		{"Empty", empty},
		{"Encoded", encoded},
		{"About", about},
		{"List", list},
		{"Many", many},
		{"Large", large},
		{"OddKeys", oddKeys},
		{"BadKeys", badKeys},
		{"Atomic", atomicReplace},
		{"Cancelled", cancelled},
		{"CancelledInBody", cancelledInBody},
		{"BodyFails", bodyFails},
		{"BodyShort", bodyShort},
		{"WrongChecksum", wrongChecksum},
		{"Check", check},
		{"Goroutines", goroutines},
	} {
		t.Run(part.name, func(t *testing.T) {
			opened := s.Open(t)
			tr := &trial{T: t, Suite: s, s: opened, ctx: t.Context()}
			part.run(tr)
			if s.Left != nil {
				for _, what := range s.Left(t, opened) {
					t.Errorf("left behind: %s", what)
				}
			}
			if err := opened.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	if s.OpenThrough != nil {
		t.Run("Lies", func(t *testing.T) { testLies(t, s) })
	}
}

// trial is one part of the suite with its store.
type trial struct {
	*testing.T
	Suite
	s   store.Store
	ctx context.Context
}

// put stores an object, which must succeed.
func (t *trial) put(key string, content []byte, about store.About) {
	t.Helper()
	if err := t.s.Put(t.ctx, key, store.Bytes(content), about); err != nil {
		t.Fatalf("Put(%q, %d bytes): %v", key, len(content), err)
	}
}

// get reads an object and what the store says of it.
func (t *trial) get(ctx context.Context, key string) ([]byte, store.Info, error) {
	r, info, err := t.s.Get(ctx, key)
	if err != nil {
		return nil, info, err
	}
	content, err := io.ReadAll(r)
	return content, info, errors.Join(err, r.Close())
}

// want checks that a key holds an object.
func (t *trial) want(key string, content []byte, about store.About) {
	t.Helper()
	got, info, err := t.get(t.ctx, key)
	if err != nil {
		t.Errorf("Get(%q): %v", key, err)
		return
	}
	if !bytes.Equal(got, content) {
		t.Errorf("Get(%q) = %d bytes %.40q, want %d %.40q", key, len(got), got, len(content), content)
	}
	t.wantInfo("Get", info, key, content, about)
}

func (t *trial) wantInfo(method string, info store.Info, key string, content []byte, about store.About) {
	t.Helper()
	if info.Key != key || info.Size != int64(len(content)) {
		t.Errorf("%s: object %q of %d bytes, want %q of %d", method, info.Key, info.Size, key, len(content))
	}
	if crc := checksum(content); info.HasCRC && info.CRC32C != crc {
		t.Errorf("%s(%q): CRC32C %08x, want %08x", method, key, info.CRC32C, crc)
	}
	if !info.HasAbout || info.About != about {
		t.Errorf("%s(%q): About (%v)\n%+v\nwant\n%+v", method, key, info.HasAbout, info.About, about)
	}
}

// absent checks that a key has no object.
func (t *trial) absent(key string) {
	t.Helper()
	if _, _, err := t.get(t.ctx, key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get(%q): %v, want ErrNotFound", key, err)
	}
	if keys := t.keys(key); slices.Contains(keys, key) {
		t.Errorf("List(%q) has %q, which should not be there", key, keys)
	}
}

// keys lists the keys with a prefix.
func (t *trial) keys(prefix string) (keys []string) {
	t.Helper()
	for info, err := range t.s.List(t.ctx, prefix) {
		if err != nil {
			t.Fatalf("List(%q): %v", prefix, err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// sample is an About as the sink writes it; n makes it differ.
func sample(n int) store.About {
	return store.About{
		ContentType: "application/x-ndjson", Topic: "orders", Partition: int32(n % 8), Group: fmt.Sprintf("type=sale/hour=%02d", n%24),
		FirstOffset: int64(n) * 1000, LastOffset: int64(n)*1000 + 999, Records: 1000, InputBytes: 1_525_000,
		EpochFirst: int64(n) * 1000, EpochNext: int64(n)*1000 + 1000, Format: "jsonl v1",
	}
}

// noise is n bytes that no compressor shortens, the same for the same seed.
func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	rand.NewChaCha8(key).Read(b)
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
