// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// deflaters are writers that are not in use. A new one takes 800 KB.
var deflaters = sync.Pool{New: func() any { w, _ := flate.NewWriter(nil, flate.BestSpeed); return w }}

// flated is a Codec.
var flated = &Codec{
	Name: "flate",
	Compress: func(dst, src []byte) []byte {
		b := bytes.NewBuffer(dst)
		w := deflaters.Get().(*flate.Writer)
		w.Reset(b)
		w.Write(src)
		w.Close()
		deflaters.Put(w)
		return b.Bytes()
	},
	Decompress: func(dst, src []byte) ([]byte, error) {
		b := bytes.NewBuffer(dst)
		_, err := io.Copy(b, flate.NewReader(bytes.NewReader(src)))
		return b.Bytes(), err
	},
}

// backwards compares bytes the other way round.
func backwards(a, b []byte) int { return bytes.Compare(b, a) }

// A model has the records that a Sorter got. A value names its writer and its place.
type model struct {
	t       testing.TB
	o       Options
	s       *Sorter
	writers []*Writer
	w       int
	all     []pair
	wanted  []pair
	trace   []string
}

// modelOptions makes Options of two bytes.
func modelOptions(t *testing.T, a, b byte) Options {
	o := Options{Memory: 1 << 20, chunk: 4 << 10, Parallel: 1 + int(a&1), Dir: memoryDir(t), open: 3 + int(b>>6)}
	if a&2 != 0 {
		o.Compare = backwards
	}
	if a&4 != 0 {
		o.Combine = func(dst, a, b []byte) []byte { return append(append(append(dst, a...), ','), b...) }
	}
	if a&8 != 0 {
		o.Limit = 1 + int64(b&63)*int64(b&63)
	}
	if a&16 != 0 {
		o.Codec = flated
	}
	if a&32 != 0 {
		o.block = 300
		if o.Codec != nil {
			o.block = 4000 // flate takes some 40 KB for each block.
		}
	}
	if a&64 != 0 {
		o.Purpose = offheap.NewPurpose("the model of sortbuf")
	}
	return o
}

// keyOf makes a key of two bytes: few and many different ones, short and long ones, with prefixes.
func keyOf(kind, n byte) []byte {
	switch kind % 8 {
	case 0:
		return nil
	case 1:
		return []byte{n}
	case 2:
		return make([]byte, n)
	case 3:
		return append(bytes.Repeat([]byte("p"), 40), n&3)
	case 4:
		return fmt.Appendf(nil, "key %d", n&7)
	case 5:
		return bytes.Repeat([]byte{n & 1, 0}, int(n)/2)
	case 6:
		return append([]byte("12345678"), make([]byte, n&15)...)
	}
	return bytes.Repeat([]byte{n}, int(n)*40) // More than a chunk.
}

func (m *model) run(ops []byte) {
	s, err := New(m.o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.s = s
	defer func() {
		s.Close()
		if used, _ := s.c.mem.stats(); used != 0 {
			m.t.Errorf("%v: %d bytes are left", m.trace, used)
		}
		if used, _, files := s.c.disk.stats(); used != 0 || files != 0 {
			m.t.Errorf("%v: %d bytes and %d files are left", m.trace, used, files)
		}
	}()
	for len(ops) >= 2 {
		op, n := ops[0], ops[1]
		ops = ops[2:]
		m.trace = append(m.trace, fmt.Sprintf("%d:%d", op, n))
		switch op % 16 {
		default:
			m.add(keyOf(op>>4, n), int(op>>4))
		case 10: // As many as a spill needs.
			r := rand.New(rand.NewPCG(uint64(n), 0))
			for range int(n) * 10 {
				m.add(fmt.Appendf(nil, "%x", r.Uint64()>>(n%60)), 150)
			}
		case 11:
			m.reserve(keyOf(op>>4, n), int(n))
		case 12:
			m.s.c.asked.Store(true) // Another sorter needs memory.
		case 13: // Another writer. With Combine, the order of values of several writers is not defined.
			if m.o.Combine == nil && len(m.writers) < 4 {
				m.writers = append(m.writers, s.Writer())
				m.w = len(m.writers)
			}
		case 14:
			m.w = int(n) % (len(m.writers) + 1)
		case 15:
			if st := s.Stats(); st.MemoryPeak > m.o.Memory {
				m.t.Fatalf("%v: %d bytes of memory", m.trace, st.MemoryPeak)
			}
		}
	}
	m.check()
}

// value is the next record's.
func (m *model) value(n int) []byte {
	v := fmt.Appendf(nil, "%d.%d.", m.w, len(m.all))
	return append(v, bytes.Repeat([]byte{'v'}, n)...)
}

func (m *model) add(key []byte, n int) {
	value := m.value(n)
	add := m.s.Add
	if m.w > 0 {
		add = m.writers[m.w-1].Add
	}
	if err := add(key, value); err != nil {
		m.t.Fatalf("%v: %v", m.trace, err)
	}
	m.all = append(m.all, pair{string(key), string(value)})
}

func (m *model) reserve(key []byte, n int) {
	value := m.value(n)
	reserve := m.s.Reserve
	if m.w > 0 {
		reserve = m.writers[m.w-1].Reserve
	}
	k, v, err := reserve(len(key), len(value))
	if err != nil || len(k) != len(key) || len(v) != len(value) || cap(k) != len(k) || cap(v) != len(v) {
		m.t.Fatalf("%v: Reserve(%d, %d): %d and %d bytes, %v", m.trace, len(key), len(value), len(k), len(v), err)
	}
	copy(k, key)
	copy(v, value)
	m.all = append(m.all, pair{string(key), string(value)})
}

// writerOf and placeOf read a value.
func writerOf(v string) string { w, _, _ := strings.Cut(v, "."); return w }

func placeOf(v string) int {
	n, _ := strconv.Atoi(strings.Split(v, ".")[1])
	return n
}

// want is what the Sorter must return.
func (m *model) want() []pair {
	if m.wanted != nil {
		return slices.Clone(m.wanted)
	}
	all := slices.Clone(m.all)
	slices.SortStableFunc(all, func(a, b pair) int { return m.o.compare([]byte(a.key), []byte(b.key)) })
	if m.o.Combine != nil {
		var groups []pair
		for _, p := range all {
			if n := len(groups); n > 0 && groups[n-1].key == p.key {
				groups[n-1].value += "," + p.value
			} else {
				groups = append(groups, p)
			}
		}
		all = groups
	}
	if m.o.Limit > 0 && int64(len(all)) > m.o.Limit {
		all = all[:m.o.Limit]
	}
	m.wanted = all
	return slices.Clone(all)
}

// same compares records with those wanted.
func (m *model) same(what string, got []pair) {
	m.t.Helper()
	want := m.want()
	if len(m.writers) > 0 { // Records of several writers with equal keys have any order.
		last := map[string]int{} // Of each writer and key.
		for _, p := range got {
			id := writerOf(p.value) + " " + p.key
			if n, ok := last[id]; ok && n > placeOf(p.value) {
				m.t.Fatalf("%v: %s: records of a writer are out of order at %q", m.trace, what, p.value)
			}
			last[id] = placeOf(p.value)
		}
		byPlace := func(a, b pair) int {
			if c := m.o.compare([]byte(a.key), []byte(b.key)); c != 0 {
				return c
			}
			return placeOf(a.value) - placeOf(b.value)
		}
		if !slices.IsSortedFunc(got, func(a, b pair) int { return m.o.compare([]byte(a.key), []byte(b.key)) }) {
			m.t.Fatalf("%v: %s: out of order", m.trace, what)
		}
		got = slices.SortedFunc(slices.Values(got), byPlace)
		if m.o.Limit > 0 { // Which of the equal keys at the limit is any one's guess.
			for i := range got {
				got[i].value = ""
			}
			for i := range want {
				want[i].value = ""
			}
		}
	}
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				m.t.Fatalf("%v: %s: record %d of %d is %.60q, want %.60q of %d", m.trace, what, i, len(got), got[i], want[i], len(want))
			}
		}
		m.t.Fatalf("%v: %s: %d records, want %d", m.trace, what, len(got), len(want))
	}
}

// check reads the records in each way.
func (m *model) check() {
	ctx := context.Background()
	m.same("Sorted", collect(m.t, m.s))
	for _, err := range m.s.Sorted(ctx) { // Left early: the next iteration must work.
		if err != nil {
			m.t.Fatal(err)
		}
		break
	}
	if err := m.s.Add(nil, nil); err != ErrSorted {
		m.t.Fatalf("%v: Add after Sorted: %v", m.trace, err)
	}
	if st := m.s.Stats(); st.MemoryPeak > m.o.Memory || st.Records != int64(len(m.all)) {
		m.t.Fatalf("%v: %+v; want %d records and at most %d bytes of memory", m.trace, st, len(m.all), m.o.Memory)
	}
	path := filepath.Join(m.o.Dir, "run")
	if err := Save(ctx, path, m.s.Sorted(ctx), m.o); err != nil {
		m.t.Fatalf("%v: Save: %v", m.trace, err)
	}
	run, err := Open(path, m.o)
	if err != nil {
		m.t.Fatalf("%v: Open: %v", m.trace, err)
	}
	defer run.Close()
	m.checkRun(run)
	var groups []pair
	for g, err := range Groups(m.s.Sorted(ctx), m.o.Compare) {
		if err != nil {
			m.t.Fatal(err)
		}
		for v, err := range g.Values {
			if err != nil {
				m.t.Fatal(err)
			}
			groups = append(groups, pair{string(g.Key), string(v)})
		}
	}
	m.same("Groups", groups)
}

func (m *model) checkRun(run *Run) {
	ctx := context.Background()
	if err := run.Verify(ctx); err != nil {
		m.t.Fatalf("%v: Verify: %v", m.trace, err)
	}
	var all []pair
	for r, err := range run.All() {
		if err != nil {
			m.t.Fatal(err)
		}
		all = append(all, pair{string(r.Key), string(r.Value)})
	}
	m.same("All", all)
	if run.Len() != int64(len(all)) {
		m.t.Fatalf("%v: Len is %d of %d", m.trace, run.Len(), len(all))
	}
	var twice []pair
	one := m.o
	one.Combine, one.Limit = nil, 0
	for r, err := range Merge(ctx, one, run, run) {
		if err != nil {
			m.t.Fatal(err)
		}
		twice = append(twice, pair{string(r.Key), string(r.Value)})
	}
	if len(twice) != 2*len(all) || !slices.IsSortedFunc(twice, func(a, b pair) int { return m.o.compare([]byte(a.key), []byte(b.key)) }) {
		m.t.Fatalf("%v: Merge of two equal runs of %d: %d records", m.trace, len(all), len(twice))
	}
	for i := 0; i < len(all); i += 1 + len(all)/8 {
		m.checkKey(run, all, all[i].key)
		m.checkKey(run, all, all[i].key+"\x00")
		m.checkKey(run, all, all[i].key[:len(all[i].key)/2])
	}
}

// checkKey holds Find and Range of a key against all records.
func (m *model) checkKey(run *Run, all []pair, key string) {
	compare := func(p pair, k string) int { return m.o.compare([]byte(p.key), []byte(k)) }
	from, _ := slices.BinarySearchFunc(all, key, compare)
	to := from
	for to < len(all) && all[to].key == key {
		to++
	}
	n := from
	for v, err := range run.Find([]byte(key)) {
		if err != nil || n >= to || string(v) != all[n].value {
			m.t.Fatalf("%v: Find(%q): value %d is %q, %v", m.trace, key, n-from, v, err)
		}
		n++
	}
	if n != to {
		m.t.Fatalf("%v: Find(%q): %d values of %d", m.trace, key, n-from, to-from)
	}
	end := all[min(from+len(all)/20, len(all)-1)].key
	n = from
	for r, err := range run.Range([]byte(key), []byte(end)) {
		if err != nil || n >= len(all) || (pair{string(r.Key), string(r.Value)}) != all[n] {
			m.t.Fatalf("%v: Range(%q): record %d is %q, %v", m.trace, key, n-from, r.Key, err)
		}
		n++
	}
	if until, _ := slices.BinarySearchFunc(all, end, compare); n != max(until, from) {
		m.t.Fatalf("%v: Range(%q, %q): up to record %d, want %d", m.trace, key, end, n, until)
	}
}

// modelSeeds are inputs of FuzzSorter that reach all paths.
func modelSeeds() (seeds [][]byte) {
	bulk := []byte{10, 255, 0x41, 1, 0x42, 9, 10, 200, 0xf1, 255, 0xf1, 254, 0x31, 3, 10, 255, 0x0b, 3, 12, 0, 0x21, 7, 10, 100}
	step := 3 // Each pair of options.
	if testing.Short() {
		step = 11
	}
	for o := 0; o < 128; o += step {
		seeds = append(seeds, append([]byte{byte(o), byte(o * 5)}, bulk...))
	}
	seeds = append(seeds, []byte{}, []byte{0, 0}, []byte{9, 1, 0, 0}, []byte{0, 0, 10, 255, 13, 0, 10, 255, 14, 0, 10, 255, 14, 1, 10, 255}, []byte{1, 0, 10, 255, 13, 0, 10, 255, 14, 0, 10, 255, 14, 1, 10, 255})
	return seeds
}

// FuzzSorter: bytes become options and operations; slices.SortStableFunc knows the result.
func FuzzSorter(f *testing.F) {
	for _, seed := range modelSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) < 2 || len(ops) > 200 {
			return
		}
		(&model{t: t, o: modelOptions(t, ops[0], ops[1])}).run(ops[2:])
	})
}
