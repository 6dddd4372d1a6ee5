// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// collected runs the collector until done.
func collected(done func() bool) bool { return testenv.Collect(done) }

// savedFile saves n records and returns the file's bytes, and the records.
func savedFile(t testing.TB, n int, o Options) (data []byte, want []pair) {
	t.Helper()
	for i := range n {
		want = append(want, pair{fmt.Sprintf("key %06d", i/2), fmt.Sprintf("value %d of the record", i)})
	}
	path := filepath.Join(t.TempDir(), "run")
	if err := Save(context.Background(), path, recordsOf(want), o); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data, want
}

func recordsOf(all []pair) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, p := range all {
			if !yield(Record{[]byte(p.key), []byte(p.value)}, nil) {
				return
			}
		}
	}
}

// openBytes opens a file that lies in memory.
func openBytes(data []byte, o Options) (*Run, error) {
	o.Memory = 1 << 20
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &mapped{o: o, path: "run", data: data}
	if len(data) < headerBytes+trailerBytes {
		return nil, m.damaged(0, "short")
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return &Run{m: m}, nil
}

// judge reads damaged bytes in each way. Each result is ErrDamaged or true records. It returns the
// number of records of All, and whether there was an error.
func judge(t *testing.T, what string, data []byte, o Options, want []pair) (n int, damaged bool) {
	t.Helper()
	run, err := openBytes(data, o)
	wrong := func(err error) {
		t.Helper()
		var d *DamagedError
		if !errors.Is(err, ErrDamaged) || !errors.As(err, &d) || d.Error() == "" {
			t.Fatalf("%s: %v", what, err)
		}
		damaged = true
	}
	if err != nil {
		wrong(err)
		return 0, true
	}
	i := 0
	for r, err := range run.All() {
		if err != nil {
			wrong(err)
			continue
		}
		p := pair{string(r.Key), string(r.Value)}
		for i < len(want) && want[i] != p {
			i++ // Records of damaged blocks are missing.
		}
		if i == len(want) {
			t.Fatalf("%s: the record %q was never saved", what, p)
		}
		n++
	}
	if n < len(want) && !damaged {
		t.Fatalf("%s: %d records of %d, without an error", what, n, len(want))
	}
	if err := run.Verify(context.Background()); err != nil {
		wrong(err)
	}
	for _, i := range []int{0, len(want) / 2, len(want) - 1} {
		found := 0
		for v, err := range run.Find([]byte(want[i].key)) {
			if err != nil {
				wrong(err)
				continue
			}
			if !slices.Contains(want, pair{want[i].key, string(v)}) {
				t.Fatalf("%s: Find: the value %q was never saved", what, v)
			}
			found++
		}
		if found == 0 && !damaged {
			t.Fatalf("%s: Find finds nothing, without an error", what)
		}
	}
	return n, damaged
}

// TestDamage: a file cut at each length, and with each byte flipped, yields errors or true records.
// FREEHOLD_TEST_STRESS makes the file larger.
func TestDamage(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 40
	}
	if os.Getenv("FREEHOLD_TEST_STRESS") != "" {
		n = 4000
	}
	for _, o := range []Options{{block: 200}, {block: 200, Codec: flated}} {
		n := n
		if o.Codec != nil {
			n = min(n, 150) // flate takes some 40 KB for each block that is read.
		}
		data, want := savedFile(t, n, o)
		o.Memory = 1 << 20
		if n, damaged := judge(t, "whole", data, o, want); n != len(want) || damaged {
			t.Fatalf("whole: %d records of %d, damaged %t", n, len(want), damaged)
		}
		for cut := range data {
			judge(t, fmt.Sprintf("cut at %d of %d", cut, len(data)), data[:cut:cut], o, want)
		}
		good := 0
		for i := range data {
			data[i] ^= 1 << (i % 8)
			n, damaged := judge(t, fmt.Sprintf("byte %d of %d flipped", i, len(data)), data, o, want)
			if !damaged {
				t.Fatalf("byte %d of %d flipped: nothing says so", i, len(data))
			}
			good += n
			data[i] ^= 1 << (i % 8)
		}
		if average := good / len(data); average < len(want)*7/10 {
			t.Errorf("with one byte flipped, %d records of %d stay readable on average", average, len(want))
		}
	}
}

// TestFileLayout: the format's numbers, which other programs and later versions rely on.
func TestFileLayout(t *testing.T) {
	data, _ := savedFile(t, 3, Options{})
	if got := fmt.Sprintf("%q %x", data[:8], data[8:17]); got != `"FHsort\r\n" 010003000000000000` {
		t.Errorf("header %s", got)
	}
	h := readHead(data[headerBytes:])
	payload := data[headerBytes+blockHeadBytes:][:h.stored]
	if !bytes.HasPrefix(payload, []byte("\x00\x00\x00\x00\x0a\x15key 000000value 0 of the record\x0a\x15key 000000value 1")) || h.count != 3 || h.raw != h.stored || h.level != 0 {
		t.Errorf("block %+v %q", h, payload)
	}
	if !h.sound(data[headerBytes:], payload, headerBytes) || !bytes.HasPrefix(data[len(data)-trailerBytes:], trailerMagic) {
		t.Error("the checksum or the trailer is elsewhere")
	}
}

// TestLaterVersion: a file of a later version is refused.
func TestLaterVersion(t *testing.T) {
	data, _ := savedFile(t, 3, Options{})
	o, _ := Options{}.withDefaults()
	head := fileHeader(&o, true)
	head[8] = formatVersion + 1
	le.PutUint32(head[60:], crcOf(head[:60]))
	copy(data, head)
	if _, err := openBytes(data, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("version %d: %v", head[8], err)
	}
}

// TestSpilledDamage: a spilled run that was damaged on disk is an error of Sorted.
func TestSpilledDamage(t *testing.T) {
	s, err := New(Options{Memory: 1 << 20, chunk: 4 << 10, Dir: t.TempDir(), Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 20_000 {
		if err := s.Add(fmt.Appendf(nil, "%d", i), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	run := s.c.runs[0]
	if _, err := run.f.WriteAt([]byte("damage"), run.size/2); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	for _, err = range s.Sorted(context.Background()) {
		if err != nil {
			break
		}
	}
	if !errors.As(err, &damaged) || damaged.Block < 0 || damaged.Offset <= 0 {
		t.Errorf("Sorted of a damaged run: %v", err)
	}
}
