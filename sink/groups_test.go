// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freehold-go/freehold/sink/record"
)

// TestStoredMetadata: what is written to the metadata of a commit comes back, and what is damaged is an error.
func TestStoredMetadata(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		stored := map[string]int64{}
		for range r.IntN(40) {
			name := groupTag + strings.Repeat("dt=2026-11-23/", r.IntN(3)) + fmt.Sprint(r.IntN(100))
			stored[name] = 1000 + r.Int64N(1<<uint(1+r.IntN(40)))
		}
		text := ahead(stored).encode(1000)
		maps.DeleteFunc(stored, func(_ string, next int64) bool { return next == 1000 })
		got, err := decodeAhead(text, 1000)
		if err != nil || !maps.Equal(got, stored) {
			t.Fatalf("%v, %v; want %v", got, err, stored)
		}
		if len(text) <= len(metadataPrefix) {
			continue
		}
		b := []byte(text)
		b[len(metadataPrefix)+r.IntN(len(text)-len(metadataPrefix))] = '!'
		if _, err := decodeAhead(string(b), 1000); err == nil {
			t.Fatalf("%q is damaged", b)
		}
		decodeAhead(text[:len(metadataPrefix)+r.IntN(len(text)-len(metadataPrefix))], 1000) // It may be anything, but no panic.
	}
	if got, err := decodeAhead("kgo-1234", 7); len(got) != 0 || err != nil {
		t.Errorf("another program's metadata: %v, %v", got, err)
	}
	hours := map[string]int64{}
	for i := range 24 * 10 {
		hours[fmt.Sprintf("%sdt=2026-11-%02d/hour=%02d/type=order_paid", groupTag, 1+i/24, i%24)] = int64(100_000 + 97*i)
	}
	if n := len(ahead(hours).encode(5)); n > mostMetadata {
		t.Errorf("%d groups need %d bytes", len(hours), n)
	}
}

func independent(behind int64) func(*Options) {
	return func(o *Options) {
		o.Partitioner = byFirst{}
		o.Rotation.Independent, o.Rotation.Behind = true, behind
	}
}

// TestIndependentGroups: groups end by themselves, the oldest open record is committed, and the next process leaves out what is stored.
func TestIndependentGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		h := start(t, src, to, independent(0))
		h.assign(p0)
		// The object of b begins at 3 and stays open.
		values := numbered("a", 0, 25)
		values[3] = "b3"
		h.send(p0, 0, values...)
		synctest.Wait()
		e := ".txt" + h.codec.Extension
		if got := to.keys(); !slices.Equal(got, []string{"t/0/a/00000" + e, "t/0/a/00011" + e}) {
			t.Errorf("objects %q", got)
		}
		stored, err := decodeAhead(src.metadata[p0], 3)
		if at := src.at(p0); at != 3 || err != nil || !maps.Equal(stored, map[string]int64{groupTag + "a": 21}) {
			t.Errorf("committed %d, %v, %v", at, stored, err)
		}
		if err := h.end(); err != nil {
			t.Fatal(err)
		}
		h = start(t, src, to, independent(0))
		h.assign(p0)
		h.committed(p0)
		h.send(p0, 3, append(values[3:], numbered("b", 25, 9)...)...)
		synctest.Wait()
		if got := to.lines(t, h.codec, "t/0/b/00003"+e); len(got) != 10 {
			t.Errorf("the object of b has %q", got)
		}
		if at := src.at(p0); at != 21 || src.metadata[p0] == "" { // a21 to a24 are open.
			t.Errorf("committed %d, %q", at, src.metadata[p0])
		}
		if err := h.end(); err != nil {
			t.Fatal(err)
		}
		if got := to.keys(); len(got) != 3 {
			t.Errorf("objects %q", got)
		}
	})
}

// TestIndependentBehind: an object that would hold the commit back for too long ends, and offsets that no object has are committed, too.
func TestIndependentBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		h := start(t, src, to, independent(20))
		h.assign(p0)
		h.send(p0, 0, "b0")
		for at := int64(1); at < 60; at++ {
			h.send(p0, at, fmt.Sprint("a", at))
		}
		synctest.Wait()
		if got := to.lines(t, h.codec, "t/0/b/00000.txt"+h.codec.Extension); !slices.Equal(got, []string{"b0\n"}) {
			t.Errorf("the object of b has %q", got)
		}
		if at := src.at(p0); at != 51 {
			t.Errorf("committed %d", at)
		}
		if err := h.end(); err != nil {
			t.Fatal(err)
		}
		// Records that are stored already are left out, and the offset behind them is committed.
		src.metadata[p0] = ahead(map[string]int64{groupTag + "a": 200}).encode(51)
		h = start(t, src, to, independent(20))
		h.assign(p0)
		h.committed(p0)
		for at := int64(51); at < 120; at++ {
			h.send(p0, at, fmt.Sprint("a", at))
		}
		synctest.Wait()
		if at := src.at(p0); at < 100 {
			t.Errorf("committed %d", at)
		}
		stored, err := decodeAhead(src.metadata[p0], src.at(p0))
		if err != nil || stored[groupTag+"a"] != 200 {
			t.Errorf("%v, %v", stored, err)
		}
		if err := h.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestIndependentByClock: the clock ends each object by itself.
func TestIndependentByClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		h := start(t, src, to, func(o *Options) {
			independent(0)(o)
			o.Rotation.Age = time.Minute
		})
		h.assign(p0)
		h.send(p0, 0, "a0")
		synctest.Wait()
		time.Sleep(40 * time.Second)
		h.send(p0, 1, "b1")
		synctest.Wait()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if at := src.at(p0); at != 1 || len(to.keys()) != 1 {
			t.Errorf("committed %d, objects %q", at, to.keys())
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if at := src.at(p0); at != 2 || len(to.keys()) != 2 || src.metadata[p0] != "" {
			t.Errorf("committed %d, objects %q, metadata %q", at, to.keys(), src.metadata[p0])
		}
		if err := h.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// wholeValue has a group for each value.
type wholeValue struct{}

func (wholeValue) Group(dst []byte, r *record.Record) ([]byte, error) {
	return append(dst, r.Value...), nil
}

// TestIndependentMetadataFull: all objects end if the metadata cannot hold the groups that are ahead.
func TestIndependentMetadataFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		h := start(t, src, to, func(o *Options) {
			independent(0)(o)
			o.Rotation.Records = 2
			o.Partitioner = wholeValue{}
		})
		h.assign(p0)
		h.send(p0, 0, "first") // holds the commit back
		const groups = 200
		for i := range groups {
			var noise [50]byte
			rand.NewChaCha8([32]byte{byte(i)}).Read(noise[:])
			name := fmt.Sprintf("%x", noise)
			h.send(p0, int64(1+2*i), name, name)
			if n := len(src.metadataOf(p0)); n > 4096 {
				t.Fatalf("metadata of %d bytes", n)
			}
			synctest.Wait()
		}
		if n := h.sink.Stats().EarlyEnds; n != 1 {
			t.Errorf("%d early ends", n)
		}
		if at := src.at(p0); at != 1+2*groups || len(to.keys()) != groups+1 {
			t.Errorf("committed %d, %d objects", at, len(to.keys()))
		}
		if err := h.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDamagedMetadata ends the sink, because it cannot know what is stored.
func TestDamagedMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newFakeSource()
		src.committed[p0], src.metadata[p0] = 7, metadataPrefix+"!"
		h := start(t, src, newFakeStore(), independent(0))
		h.assign(p0)
		h.committed(p0)
		synctest.Wait()
		if err := h.end(); err == nil || !strings.Contains(err.Error(), "t partition 0: offset 7: the metadata") {
			t.Error(err)
		}
	})
}
