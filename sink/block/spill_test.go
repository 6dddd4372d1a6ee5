// SPDX-License-Identifier: Apache-2.0

package block

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestSpill: chains have the same bytes wherever these are, and neither memory nor disk space is left behind.
func TestSpill(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	d, err := NewSpillDir(dir, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBudget("test", 1<<30)
	for round := range 20 {
		s, moved := d.NewSpill(), int64(0)
		chains, want := make([]*Chain, 1+r.IntN(5)), make([][]byte, 5)
		for i := range chains {
			chains[i] = NewChain(b)
		}
		for range 40 {
			i := r.IntN(len(chains))
			p := make([]byte, r.IntN(1<<r.IntN(18)))
			for j := range p {
				p[j] = byte(r.Uint32())
			}
			want[i] = append(want[i], p...)
			write(t, chains[i], p)
			if r.IntN(8) > 0 {
				continue
			}
			used := b.Used()
			n, err := s.Move(chains)
			if err != nil {
				t.Fatal(err)
			}
			if moved += n; n > 0 && (n < leastSpill || b.Used() > used-n || b.Used() != 0) {
				t.Fatalf("round %d: %d bytes moved, %d of %d in memory", round, n, b.Used(), used)
			}
		}
		if d.Used() != moved {
			t.Fatalf("round %d: %d bytes moved, %d used", round, moved, d.Used())
		}
		s.Free()
		for i, c := range chains {
			same(t, c, want[i])
			for range 20 {
				from := r.IntN(len(want[i]) + 1)
				p := make([]byte, r.IntN(len(want[i])-from+1))
				if n, err := c.ReadAt(p, int64(from)); n != len(p) || err != nil || !bytes.Equal(p, want[i][from:from+n]) {
					t.Fatalf("round %d: %d of %d bytes from %d: %v", round, n, len(p), from, err)
				}
			}
			if got, want := c.CRC32C(), crc32.Checksum(want[i], castagnoli); got != want {
				t.Fatalf("round %d: CRC32C %x, want %x", round, got, want)
			}
			c.Free()
			c.Free()
		}
		if b.Used() != 0 || d.Used() != 0 {
			t.Fatalf("round %d: %d bytes in use and %d in files after Free", round, b.Used(), d.Used())
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files left: %v, %v", files, err)
	}
}

// same compares all bytes.
func same(t *testing.T, c *Chain, want []byte) {
	t.Helper()
	got, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, want %d, or other ones: %v", len(got), len(want), err)
	}
}

// TestSpillFiles: a full file is given up with its last chain, though others are written.
func TestSpillFiles(t *testing.T) {
	d, err := NewSpillDir(t.TempDir(), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	b, s := NewBudget("test", 1<<40), d.NewSpill()
	p := make([]byte, 1<<20)
	var chains []*Chain
	for range 2 * enoughSpill / len(p) { // Pages of zeros.
		c := NewChain(b)
		write(t, c, p)
		if n, err := s.Move([]*Chain{c}); n != int64(len(p)) || err != nil {
			t.Fatal(n, err)
		}
		chains = append(chains, c)
	}
	for i, c := range chains {
		if c.Free(); i == len(chains)/2-1 && d.Used() != enoughSpill {
			t.Errorf("%d bytes in files after the first file's chains were freed", d.Used())
		}
	}
	if s.Free(); d.Used() != 0 {
		t.Errorf("%d bytes in files", d.Used())
	}
}

// TestSpillFails: after an error the chains are as they were.
func TestSpillFails(t *testing.T) {
	d, err := NewSpillDir(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b, s := NewBudget("test", 1<<30), d.NewSpill()
	c := NewChain(b)
	p := bytes.Repeat([]byte("0123456789"), 70_000)
	write(t, c, p)
	check := func(used int64) {
		t.Helper()
		if same(t, c, p); d.Used() != used {
			t.Errorf("%d bytes in files, want %d", d.Used(), used)
		}
	}
	if n, err := s.Move([]*Chain{c}); n != int64(len(p)) || err != nil {
		t.Fatal(n, err)
	}
	write(t, c, p)
	p = append(p, p...)
	if n, err := s.Move([]*Chain{c}); n != 0 || !errors.Is(err, ErrSpillLimit) {
		t.Error(n, err)
	}
	check(700_000)
	d.limit = 1 << 30
	whole := s.file.File
	if s.file.File, err = os.Open(os.DevNull); err != nil { // It cannot be written.
		t.Fatal(err)
	}
	if n, err := s.Move([]*Chain{c}); n != 0 || err == nil {
		t.Error(n, err)
	}
	s.file.File.Close()
	s.file.File = whole
	check(700_000)
	c.Free()
	s.Free()
	if _, err := NewSpillDir(filepath.Join(t.TempDir(), "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
