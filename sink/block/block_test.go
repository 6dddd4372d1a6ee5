// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

func TestChain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := NewBudget("test", 1<<30)
	for round := range 50 {
		c, want := NewChain(b), []byte(nil)
		for range r.IntN(20) {
			p := make([]byte, r.IntN(1<<uint(r.IntN(20))))
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			want = append(want, p...)
			if r.IntN(3) > 0 {
				write(t, c, p)
				continue
			}
			other := NewChain(b)
			write(t, other, p)
			if err := c.Append(other); err != nil {
				t.Fatal(err)
			}
			if other.Size() != 0 {
				t.Fatal("a chain whose bytes were moved has some")
			}
			other.Free()
		}
		if c.Size() != int64(len(want)) {
			t.Fatalf("round %d: %d bytes, want %d", round, c.Size(), len(want))
		}
		if err := iotest.TestReader(io.NewSectionReader(c, 0, c.Size()), want); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if got, want := c.CRC32C(), crc32.Checksum(want, castagnoli); got != want {
			t.Fatalf("round %d: CRC32C %x, want %x", round, got, want)
		}
		c.Free()
		if used := b.Used(); used != 0 {
			t.Fatalf("round %d: %d bytes in use after Free", round, used)
		}
	}
	if b.Peak() == 0 {
		t.Error("the peak is 0")
	}
}

func write(t *testing.T, c *Chain, p []byte) {
	t.Helper()
	if n, err := c.Write(p); n != len(p) || err != nil {
		t.Fatal(n, err)
	}
}

// TestChainWaste: small objects take little memory, large ones little more than their bytes.
func TestChainWaste(t *testing.T) {
	b := NewBudget("test", 1<<30)
	for _, n := range []int{1, 4 << 10, 100 << 10, 1 << 20, 10 << 20} {
		c := NewChain(b)
		p := make([]byte, min(n, 100))
		for rest := n; rest > 0; rest -= len(p) {
			p = p[:min(len(p), rest)]
			write(t, c, p)
		}
		if used := b.Used(); used > int64(2*n+smallestBlock) || n >= 1<<20 && used > int64(n+largestBlock) {
			t.Errorf("%d bytes take %d", n, used)
		}
		c.Free()
	}
}

// TestWait: who waits goes on when memory is freed, and when its context ends.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget("test", 100)
		if err := b.Wait(t.Context(), nil); err != nil {
			t.Fatal("empty:", err)
		}
		b.Count(150)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 3)
		for range 2 {
			go func() { results <- b.Wait(t.Context(), nil) }()
		}
		go func() { results <- b.Wait(ctx, nil) }()
		synctest.Wait()
		if len(results) > 0 {
			t.Fatal("Wait returned above the limit:", <-results)
		}
		b.Count(-20)
		synctest.Wait()
		if len(results) > 0 {
			t.Fatal("Wait returned above the limit:", <-results)
		}
		cancel()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Fatal("cancelled:", err)
		}
		wake := make(chan struct{}, 1)
		wake <- struct{}{}
		if err := b.Wait(t.Context(), wake); !errors.Is(err, ErrWoken) {
			t.Fatal("woken:", err)
		}
		b.Count(-40)
		for range 2 {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
	})
}
