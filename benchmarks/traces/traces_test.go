package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFormats: each format, what it skips and what it refuses.
func TestFormats(t *testing.T) {
	words := func(size int) string {
		var b []byte
		for _, n := range []uint64{1 << 31, 2, 1 << 31} {
			b = append(b, binary.BigEndian.AppendUint64(nil, n)[8-size:]...)
		}
		return string(b)
	}
	for _, c := range []struct {
		name, text string
		f          format
		requests   []uint32 // nil for an error
		sizes      []int
	}{
		{"lines", "7\n*\n\n9\n7\n", lines, []uint32{0, 1, 0}, nil},
		{"a word in lines", "7\nx\n", lines, nil, nil},
		{"words of 4 bytes", words(4), words32, []uint32{0, 1, 0}, nil},
		{"words of 8 bytes", words(8), words64, []uint32{0, 1, 0}, nil},
		{"half a word", words(4)[:10], words32, nil, nil},
		{"adapt_size", "1 7 100\n2 7 200\n3 7 100\n", adaptSize, []uint32{0, 0, 0}, nil},
		{"adapt_size with sizes", "1 7 100\n2 7 200\n3 7 100\n", adaptSizeSized, []uint32{0, 1, 0}, []int{100, 200}},
		{"adapt_size without a size", "1 7\n", adaptSize, nil, nil},
		{"csv", "version,time,op,size,lbn\n1,5,2a,512,9\n1,5,2a,1024,9\n", csv, []uint32{0, 0}, nil},
		{"csv with sizes", "version,time,op,size,lbn\n1,5,2a,512,9\n1,5,2a,1024,9\n", csvSized, []uint32{0, 1}, []int{512, 1024}},
		{"csv of four columns", "head\n1,5,2a,512\n", csv, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &trace{most: 10}
			err := c.f(tr, bufio.NewReader(strings.NewReader(c.text)))
			if c.requests == nil {
				if err == nil {
					t.Errorf("no error: %v", tr.requests)
				}
				return
			}
			if err != nil || !slices.Equal(tr.requests, c.requests) || !slices.Equal(tr.sizes, c.sizes) {
				t.Errorf("requests %v, sizes %v, error %v", tr.requests, tr.sizes, err)
			}
		})
	}
	short := &trace{most: 2}
	if err := lines(short, bufio.NewReader(strings.NewReader("1\n2\n3\n"))); err != nil || len(short.requests) != 2 {
		t.Errorf("%d requests, error %v", len(short.requests), err)
	}
}

// random is a trace of n requests for keys of which few are popular.
func random(n, keys int) *trace {
	t := &trace{most: n}
	r := rand.New(rand.NewPCG(1, 2))
	for more := true; more; {
		more = t.add(min(r.Uint64N(uint64(keys)), r.Uint64N(uint64(keys))), 0)
	}
	return t
}

// TestOptimum: of all ways to choose what is dropped, the best one.
func TestOptimum(t *testing.T) {
	for seed := range 200 {
		tr := &trace{most: 12}
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		for more := true; more; {
			more = tr.add(r.Uint64N(6), 0)
		}
		const capacity = 3
		if got, want := optimum(tr, capacity), float64(best(tr.requests, nil, capacity))/12; got != want {
			t.Fatalf("%v: %g, want %g", tr.requests, got, want)
		}
	}
}

// best tries all.
func best(requests, kept []uint32, capacity int) (hits int) {
	if len(requests) == 0 {
		return 0
	}
	k, rest := requests[0], requests[1:]
	switch {
	case slices.Contains(kept, k):
		return 1 + best(rest, kept, capacity)
	case len(kept) < capacity:
		return best(rest, append(slices.Clone(kept), k), capacity)
	}
	for i := range kept {
		other := slices.Clone(kept)
		other[i] = k
		hits = max(hits, best(rest, other, capacity))
	}
	return hits
}

// TestLRU: beside a slice in the order of use, by entries and by bytes.
func TestLRU(t *testing.T) {
	tr := random(5000, 300)
	for _, sizes := range [][]int{nil, func() (s []int) {
		for i := range tr.keys() {
			s = append(s, 1+i%60)
		}
		return s
	}()} {
		const capacity = 50 // Some keys have more bytes.
		l := newLRU(capacity, tr.keys(), sizes)
		var kept []uint32 // The latest last.
		for i, k := range tr.requests {
			at := slices.Index(kept, k)
			if at >= 0 {
				kept = slices.Delete(kept, at, at+1)
			}
			kept = append(kept, k)
			size := func() (n int) {
				for _, k := range kept {
					if sizes == nil {
						n++
					} else {
						n += sizes[k]
					}
				}
				return n
			}
			for size() > capacity {
				kept = kept[1:]
			}
			if got := l.ask(k); got != (at >= 0) {
				t.Fatalf("request %d is a hit: %v, want %v", i, got, at >= 0)
			}
		}
	}
}

// TestPolicies: with room for all, each policy misses the first request of each key and no other; and
// the cache's budget counts.
func TestPolicies(t *testing.T) {
	tr := random(20_000, 2000)
	want := 1 - float64(tr.keys())/float64(len(tr.requests))
	room := int64(4 * tr.keys())
	owns, err := newOwn(room*entrySize, nil)
	if err != nil {
		t.Fatal(err)
	}
	otters, err := newOtter(room, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]policy{"lru": newLRU(room, tr.keys(), nil), "otter": otters, "own": owns} {
		if hits, bytes, err := replayed(tr, p); hits != want || bytes != want || err != nil {
			t.Errorf("%s: %g of the requests, %g of the bytes, error %v; want %g", name, hits, bytes, err, want)
		}
	}
	if owns, err = newOwn(1<<20, nil); err != nil {
		t.Fatal(err)
	}
	if hits, _, _ := replayed(tr, owns); hits >= want || hits < optimum(tr, 1024)/2 {
		t.Errorf("half of the room: %g of the requests hit, %g with room for all", hits, want)
	}
	if _, err := newOwn(1, nil); err == nil {
		t.Error("no error for a budget of a byte")
	}
}

// TestBars: a bar that is missed is an error, and named.
func TestBars(t *testing.T) {
	at := func(own float64) report {
		p := pair{name: "a", capacity: 2000, optimum: 1, hits: [policies]float64{byLRU: 0.91, byOtter: 0.92, byOwn: own}}
		held := p
		held.held = true
		return report{pairs: []pair{p, held}, byBytes: []pair{p}}
	}
	for own, missed := range map[float64][]string{
		0.93:  nil,
		0.915: {"held out, by otter"},
		0.90:  {"held out, by otter", "bytes, by LRU"},
		0.885: {"held out", "held out, by otter", "bytes, by LRU"},
		0.8:   {"tuned", "held out", "held out, by otter", "bytes, by LRU"},
	} {
		var out bytes.Buffer
		r := at(own)
		err := r.write(&out)
		var got []string
		for line := range strings.Lines(out.String()) {
			if name, rest, ok := strings.Cut(line, ": "); ok && strings.HasSuffix(rest, "MISSED\n") {
				got = append(got, strings.TrimPrefix(name, "- "))
			}
		}
		if !slices.Equal(got, missed) || errors.Is(err, errMissed) != (missed != nil) {
			t.Errorf("%g: missed %q, want %q; error %v", own, got, missed, err)
		}
	}
}

// TestRun replays a small checkout, each file in its own compression.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("no xz; on Debian: apt-get install xz-utils")
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "simulator/src/main/resources/com/github/benmanes/caffeine/cache/simulator/parser")
	tr := random(20_000, 12_000)
	var text, sized, table strings.Builder
	var w32, w64 []byte
	table.WriteString("head\n")
	for i, k := range tr.requests {
		fmt.Fprintln(&text, k)
		fmt.Fprintln(&sized, i, k, 500+k%100)
		fmt.Fprintf(&table, "1,%d,2a,%d,%d\n", i, 500+k%100, k)
		w32, w64 = binary.BigEndian.AppendUint32(w32, k), binary.BigEndian.AppendUint64(w64, uint64(k))
	}
	contents := map[string]string{"lirs": text.String(), "cache2k": string(w32), "cloud_physics": string(w32), "corda": string(w64), "scarab": string(w64), "adapt_size": sized.String()}
	for _, s := range sources(dir, "", 1) {
		if folder, _, ok := strings.Cut(s.name, "/"); ok {
			compress(t, filepath.Join(in, s.name), contents[folder])
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data/cloudPhysicsIO.csv"), []byte(table.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	doc := filepath.Join(dir, "doc.md")
	err := run(io.Discard, dir, dir, doc, len(tr.requests))
	if err != nil && !errors.Is(err, errMissed) {
		t.Fatal(err)
	}
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources(dir, dir, 1) {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s.name), ".xz"), ".gz"), ".trace")
		if n := strings.Count(string(b), "| "+name+" |"); n < 2 { // Two capacities at least.
			t.Errorf("%d rows of %s:\n%s", n, name, b)
		}
	}
	if err := os.Remove(filepath.Join(in, "lirs/cs.trace.gz")); err != nil {
		t.Fatal(err)
	}
	if err := run(io.Discard, dir, dir, "", 2000); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is missing: %v", err)
	}
}

func compress(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if strings.HasSuffix(path, ".gz") {
		w := gzip.NewWriter(&b)
		io.WriteString(w, text)
		w.Close()
	} else {
		cmd := exec.Command("xz", "-c")
		cmd.Stdin, cmd.Stdout = strings.NewReader(text), &b
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
