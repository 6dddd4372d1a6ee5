// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/sortbuf"
)

var sorting = offheap.NewPurpose("the suite's sorters")

// spillDir is a folder for spill files. It skips a test where there are no files.
func spillDir(t testing.TB) string {
	t.Helper()
	f, err := os.CreateTemp("", "")
	if err != nil {
		t.Skipf("no files here: %v", err)
	}
	f.Close()
	os.Remove(f.Name())
	return t.TempDir()
}

type sortRecord struct{ key, value string }

// sorted reads all records.
func sorted(t testing.TB, seq iter.Seq2[sortbuf.Record, error]) (all []sortRecord) {
	t.Helper()
	for r, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sortRecord{string(r.Key), string(r.Value)})
	}
	return all
}

// TestSorterSpills: more records than memory, from several goroutines, with each kind of Options, are
// read, saved, opened and merged.
func TestSorterSpills(t *testing.T) {
	ctx := context.Background()
	backwards := func(a, b []byte) int { return bytes.Compare(b, a) }
	for name, o := range map[string]sortbuf.Options{
		"plain": {}, "one goroutine": {Parallel: 1}, "compare": {Compare: backwards}, "purpose": {Purpose: sorting}, "limit": {Limit: 100},
		"combine": {Combine: func(dst, a, b []byte) []byte { return append(dst, max(string(a), string(b))...) }},
	} {
		t.Run(name, func(t *testing.T) {
			const writers, each = 3, 4000
			o.Memory, o.Dir = 1<<20, spillDir(t)
			s, err := sortbuf.New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var wg sync.WaitGroup
			var want []sortRecord
			for w := range writers {
				writer := s.Writer()
				record := func(i int) sortRecord {
					return sortRecord{fmt.Sprintf("%d", i*7919%(each/2)), fmt.Sprintf("%d %d %s", w, i, strings.Repeat("v", 100))}
				}
				for i := range each {
					want = append(want, record(i))
				}
				wg.Go(func() {
					for i := range each {
						r := record(i)
						key, value, err := writer.Reserve(len(r.key), len(r.value))
						if err != nil {
							t.Error(err)
							return
						}
						copy(key, r.key)
						copy(value, r.value)
					}
				})
			}
			wg.Wait()
			got := sorted(t, s.Sorted(ctx))
			compare := func(a, b sortRecord) int {
				if o.Compare != nil {
					return strings.Compare(b.key, a.key)
				}
				return strings.Compare(a.key, b.key)
			}
			slices.SortStableFunc(want, compare)
			if o.Combine != nil {
				groups := want[:0]
				for _, r := range want {
					if n := len(groups); n > 0 && groups[n-1].key == r.key {
						groups[n-1].value = max(groups[n-1].value, r.value)
					} else {
						groups = append(groups, r)
					}
				}
				want = groups
			}
			if o.Limit > 0 {
				want = want[:o.Limit]
			}
			if len(got) != len(want) || !slices.IsSortedFunc(got, compare) {
				t.Fatalf("%d records of %d, sorted: %t", len(got), len(want), slices.IsSortedFunc(got, compare))
			}
			path := filepath.Join(o.Dir, "run")
			if err := sortbuf.Save(ctx, path, s.Sorted(ctx), o); err != nil {
				t.Fatal(err)
			}
			run, err := sortbuf.Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if err := run.Verify(ctx); err != nil {
				t.Error(err)
			}
			if saved := sorted(t, run.All()); !slices.Equal(saved, got) {
				t.Error("the file has other records")
			}
			if o.Limit == 0 { // Which of equal keys are within a limit is not defined for several writers.
				all := func(a, b sortRecord) int { return cmp.Or(compare(a, b), strings.Compare(a.value, b.value)) }
				if a, b := slices.SortedFunc(slices.Values(got), all), slices.SortedFunc(slices.Values(want), all); !slices.Equal(a, b) {
					t.Error("other records came back")
				}
			}
			for v, err := range run.Find([]byte(got[0].key)) {
				if err != nil || !slices.Contains(got, sortRecord{got[0].key, string(v)}) {
					t.Errorf("Find: %q, %v", v, err)
				}
			}
		})
	}
}

// TestSorterStats: the figures of a Sorter that has spilled keep the budget, and Close returns all.
func TestSorterStats(t *testing.T) {
	var phases [sortbuf.PhaseRead + 1]bool
	s, err := sortbuf.New(sortbuf.Options{Memory: 1 << 20, Parallel: 1, Dir: spillDir(t), Progress: func(p sortbuf.Progress) {
		phases[p.Phase] = true
		if p.Total > 0 && p.Records > p.Total || p.Phase.String() == "" {
			t.Errorf("%+v", p)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 10_000
	for i := range n {
		if err := s.Add(fmt.Appendf(nil, "%d", i), make([]byte, 200)); err != nil {
			t.Fatal(err)
		}
	}
	got := sorted(t, s.Sorted(context.Background()))
	st := s.Stats()
	if len(got) != n || st.Records != n || st.Runs == 0 || st.Disk == 0 || st.Spilled < st.Disk || st.MemoryPeak > 1<<20 || st.Memory > st.MemoryPeak {
		t.Errorf("%d records, %+v", len(got), st)
	}
	if !phases[sortbuf.PhaseSort] || !phases[sortbuf.PhaseSpill] || !phases[sortbuf.PhaseRead] {
		t.Errorf("phases %v", phases)
	}
	s.Close()
	if st := s.Stats(); st.Memory != 0 || st.Disk != 0 || st.Runs != 0 {
		t.Errorf("after Close: %+v", st)
	}
}

// TestGroups: groups of all shapes, values that are not read, and errors within and between groups.
func TestGroups(t *testing.T) {
	failed := errors.New("the source failed")
	seq := func(text string, err error) iter.Seq2[sortbuf.Record, error] {
		return func(yield func(sortbuf.Record, error) bool) {
			for i := range len(text) {
				if !yield(sortbuf.Record{Key: []byte{text[i]}, Value: fmt.Append(nil, i)}, nil) {
					return
				}
			}
			if err != nil {
				yield(sortbuf.Record{}, err)
			}
		}
	}
	read := func(skip string, s iter.Seq2[sortbuf.Record, error]) (out string) {
		for g, err := range sortbuf.Groups(s, nil) {
			if err != nil {
				return out + "!"
			}
			out += string(g.Key)
			if strings.Contains(skip, string(g.Key)) {
				continue
			}
			for v, err := range g.Values {
				if err != nil {
					out += "?"
					continue
				}
				out += string(v)
			}
			for range g.Values {
				out += "twice"
			}
		}
		return out
	}
	for _, c := range []struct{ text, skip, want string }{
		{"", "", ""}, {"a", "", "a0"}, {"aab", "", "a01b2"}, {"aabbc", "b", "a01bc4"}, {"aabb", "a", "ab23"}, {"aabb", "ab", "ab"},
	} {
		if got := read(c.skip, seq(c.text, nil)); got != c.want {
			t.Errorf("%q without %q: %s, want %s", c.text, c.skip, got, c.want)
		}
		if got := read(c.skip, seq(c.text, failed)); got != c.want+"!" && got != c.want+"?!" {
			t.Errorf("%q without %q, then an error: %s", c.text, c.skip, got)
		}
	}
	for g := range sortbuf.Groups(seq("aabb", nil), func(a, b []byte) int { return 0 }) {
		n := 0
		for range g.Values {
			n++
		}
		if n != 4 {
			t.Errorf("%d of 4 keys that a comparator calls equal", n)
		}
	}
	for range sortbuf.Groups(seq("aabb", nil), nil) {
		break
	}
}

// FuzzSortBuffer drives a Buffer and a slice by the same bytes.
func FuzzSortBuffer(f *testing.F) {
	f.Add([]byte{0, 3, 0, 200, 1, 5, 2, 0, 3, 0, 0, 0})
	f.Add([]byte{0x80, 255, 0x80, 254, 0x81, 255, 2, 0, 4, 0, 0x80, 255, 0, 1, 3, 0, 0, 1})
	f.Add(bytes.Repeat([]byte{0x80, 99, 0, 0, 1, 7}, 60))
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 1000 {
			return
		}
		for _, b := range []*sortbuf.Buffer{new(sortbuf.Buffer), sortbuf.BufferFor(sorting)} {
			bufferModel(t, b, ops)
		}
	})
}

func bufferModel(t *testing.T, b *sortbuf.Buffer, ops []byte) {
	defer b.Free()
	var want []string
	var places []sortbuf.Pos
	text := strings.Repeat("record ", 1<<14)
	check := func() {
		i := 0
		for pos, record := range b.All() {
			if i == len(want) || pos != places[i] || string(record) != want[i] || string(b.At(pos)) != want[i] {
				t.Fatalf("%v: record %d at %d", ops, i, pos)
			}
			i++
		}
		if i != len(want) || b.Len() != len(want) {
			t.Fatalf("%v: %d records, Len %d, want %d", ops, i, b.Len(), len(want))
		}
		order := make([]int, len(want))
		for i := range order {
			order[i] = i
		}
		for _, compare := range []func(x, y []byte) int{nil, func(x, y []byte) int { return bytes.Compare(y, x) }} {
			slices.SortStableFunc(order, func(i, j int) int {
				if compare != nil {
					return strings.Compare(want[j], want[i])
				}
				return strings.Compare(want[i], want[j])
			})
			i := 0
			for pos, record := range b.Sorted(compare) {
				if pos != places[order[i]] || string(record) != want[order[i]] {
					t.Fatalf("%v: sorted record %d is %.20q at %d, want %.20q", ops, i, record, pos, want[order[i]])
				}
				i++
			}
			if i != len(want) {
				t.Fatalf("%v: %d sorted records of %d", ops, i, len(want))
			}
			slices.Sort(order)
		}
	}
	for ; len(ops) >= 2; ops = ops[2:] {
		n := int(ops[1])
		if ops[0]&0x80 != 0 {
			n *= 400
		}
		record := text[n%7:][:n]
		switch ops[0] & 0x7f % 5 {
		case 0:
			pos, err := b.Append([]byte(record))
			if err != nil {
				t.Fatal(err)
			}
			want, places = append(want, record), append(places, pos)
		case 1:
			p, pos, err := b.Reserve(n)
			if err != nil || len(p) != n || cap(p) != n {
				t.Fatalf("%v: Reserve(%d): %d bytes, %v", ops, n, len(p), err)
			}
			copy(p, record)
			want, places = append(want, record), append(places, pos)
		case 2:
			check()
		case 3:
			b.Reset()
			want, places = nil, nil
		case 4:
			b.Free()
			want, places = nil, nil
		}
		if len(want) == 0 && b.Bytes() != 0 || b.Bytes() < int64(len(want)) {
			t.Fatalf("%v: %d bytes of %d records", ops, b.Bytes(), len(want))
		}
	}
	check()
}

// TestSortBufferRefused: a Buffer at the limit of its Purpose returns ErrLimit and keeps its records.
func TestSortBufferRefused(t *testing.T) {
	p := offheap.NewPurpose("a small buffer of the suite")
	p.SetLimit(4 << 20)
	b := sortbuf.BufferFor(p)
	defer b.Free()
	n := 0
	for {
		_, err := b.Append(make([]byte, 1000))
		if err != nil {
			if !errors.Is(err, offheap.ErrLimit) {
				t.Errorf("Append: %v", err)
			}
			break
		}
		if n++; n > 1<<20 {
			t.Fatal("the limit has no effect")
		}
	}
	if b.Len() != n {
		t.Errorf("%d records of %d", b.Len(), n)
	}
}

// FuzzOrderedKeys: the bytes of keys compare as their columns.
func FuzzOrderedKeys(f *testing.F) {
	floats := []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, 1.5}
	for _, x := range floats {
		for _, y := range floats {
			f.Add(math.Float64bits(x), math.Float64bits(y), "a", "a\x00")
		}
	}
	for _, s := range []string{"", "\x00", "\x00\x00", "\x01", "a", "\xff", "a\xff", "a\x00b"} {
		f.Add(uint64(1)<<63, uint64(math.MaxInt64), s, "a")
		f.Add(uint64(7), uint64(7), s, "")
	}
	sign := func(n int) int { return cmp.Compare(n, 0) }
	f.Fuzz(func(t *testing.T, x, y uint64, s, u string) {
		hold := func(what string, a, b []byte, want int) {
			if got := bytes.Compare(a, b); got != sign(want) {
				t.Errorf("%s of %x %q and %x %q: %x and %x compare as %d, want %d", what, x, s, y, u, a, b, got, want)
			}
			d, e := sortbuf.Descending(slices.Clone(a), 0), sortbuf.Descending(slices.Clone(b), 0)
			if len(a) == len(b) {
				if got := bytes.Compare(d, e); got != -sign(want) {
					t.Errorf("%s of %x and %x, descending: %d, want %d", what, x, y, got, -want)
				}
			}
		}
		hold("AppendUint64", sortbuf.AppendUint64(nil, x), sortbuf.AppendUint64(nil, y), cmp.Compare(x, y))
		hold("AppendInt64", sortbuf.AppendInt64(nil, int64(x)), sortbuf.AppendInt64(nil, int64(y)), cmp.Compare(int64(x), int64(y)))
		v, w := math.Float64frombits(x), math.Float64frombits(y)
		hold("AppendFloat64", sortbuf.AppendFloat64(nil, v), sortbuf.AppendFloat64(nil, w), cmp.Compare(v, w))
		column := func(s string, n uint64) []byte { return binary.BigEndian.AppendUint64(sortbuf.AppendString(nil, s), n) }
		hold("two columns", column(s, x), column(u, y), cmp.Or(strings.Compare(s, u), cmp.Compare(x, y)))
		down := func(s string, n uint64) []byte {
			return binary.BigEndian.AppendUint64(sortbuf.Descending(sortbuf.AppendString([]byte("p"), []byte(s)), 1), n)
		}
		hold("a descending string", down(s, x), down(u, y), cmp.Or(strings.Compare(u, s), cmp.Compare(x, y)))
	})
}
