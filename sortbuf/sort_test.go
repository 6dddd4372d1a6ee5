// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

type pair struct{ key, value string }

// collect returns the records of a sorter.
func collect(t testing.TB, s *Sorter) (all []pair) {
	t.Helper()
	for r, err := range s.Sorted(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pair{string(r.Key), string(r.Value)})
	}
	return all
}

// inputs are keys that are hard to sort, by name.
func hardKeys(n int) map[string][][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func(i int) []byte{
		"random": func(int) []byte {
			b := make([]byte, 8+r.IntN(57))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		},
		"short":    func(int) []byte { return bytes.Repeat([]byte{byte(r.IntN(2))}, r.IntN(5)) },
		"zeros":    func(int) []byte { return make([]byte, r.IntN(40)) },
		"peeling":  func(i int) []byte { return append(bytes.Repeat([]byte("b"), i%300), 'c') },
		"prefix":   func(int) []byte { return append(bytes.Repeat([]byte("p"), 200), byte(r.Uint32()), byte(r.Uint32())) },
		"equal":    func(int) []byte { return []byte("the same key, which is longer than eight bytes") },
		"two":      func(int) []byte { return append(bytes.Repeat([]byte("t"), 31), byte(r.IntN(2))) },
		"sorted":   func(i int) []byte { return fmt.Appendf(nil, "key%020d", i) },
		"reversed": func(i int) []byte { return fmt.Appendf(nil, "key%020d", n-i) },
		"urls": func(int) []byte {
			return fmt.Appendf(nil, "https://www.example%d.com/path/%d", r.IntN(50), r.IntN(100))
		},
		"few long": func(int) []byte { return bytes.Repeat([]byte{byte('a' + r.IntN(3))}, 60+8*r.IntN(3)) },
	}
	all := map[string][][]byte{}
	for name, f := range kinds {
		for i := range n {
			all[name] = append(all[name], f(i))
		}
	}
	return all
}

// TestSortsHardInput: each kind of keys, in memory and through spills, by bytes and by a comparator,
// on one goroutine and on several.
func TestSortsHardInput(t *testing.T) {
	for name, keys := range hardKeys(4000) {
		var want []pair
		for i, k := range keys {
			want = append(want, pair{string(k), fmt.Sprint(i)})
		}
		slices.SortStableFunc(want, func(a, b pair) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
		for _, o := range []Options{
			{Memory: 64 << 20, Parallel: 1}, {Memory: 64 << 20, Parallel: 3}, {Memory: 1 << 20, chunk: 4 << 10, Parallel: 1}, {Memory: 1 << 20, chunk: 4 << 10, Parallel: 2},
			{Memory: 64 << 20, Compare: bytes.Compare, Parallel: 2}, {Memory: 1 << 20, chunk: 4 << 10, Compare: bytes.Compare},
		} {
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range keys {
				if err := s.Add(k, []byte(fmt.Sprint(i))); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if got := collect(t, s); !slices.Equal(got, want) {
					t.Errorf("%s, memory %d, parallel %d: the order is wrong (%d of %d records)", name, o.Memory, o.Parallel, len(got), len(want))
				}
			}
			s.Close()
		}
	}
}

// TestSpillsAndSaves: more records than memory, saved, opened and read again.
func TestSpillsAndSaves(t *testing.T) {
	ctx := context.Background()
	const n = 100_000
	s, err := New(Options{Memory: 1 << 20, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(3, 4))
	var want []uint64
	for range n {
		v := r.Uint64()
		want = append(want, v)
		if err := s.Add(binary.BigEndian.AppendUint64(nil, v), bytes.Repeat([]byte("v"), int(v%50))); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	if st := s.Stats(); st.Spilled == 0 || st.MemoryPeak > 1<<20 {
		t.Errorf("stats %+v: want spills and at most 1 MiB", st)
	}
	path := filepath.Join(t.TempDir(), "run")
	if err := Save(ctx, path, s.Sorted(ctx), Options{}); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.MemoryPeak > 1<<20 {
		t.Errorf("stats %+v: want at most 1 MiB", st)
	}
	run, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Verify(ctx); err != nil {
		t.Error(err)
	}
	i := 0
	for r, err := range run.All() {
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.BigEndian.Uint64(r.Key); got != want[i] || len(r.Value) != int(got%50) {
			t.Fatalf("record %d is %x with %d bytes", i, got, len(r.Value))
		}
		i++
	}
	if i != n || run.Len() != n {
		t.Errorf("%d records, Len %d", i, run.Len())
	}
	for _, v := range want[:1000] {
		found := 0
		for value, err := range run.Find(binary.BigEndian.AppendUint64(nil, v)) {
			if err != nil || len(value) != int(v%50) {
				t.Fatalf("%x: %d bytes, %v", v, len(value), err)
			}
			found++
		}
		if found != 1 {
			t.Errorf("%x: found %d times", v, found)
		}
	}
}
