// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"testing"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// TestWipe: an off-heap arena whose Purpose wipes leaves nothing behind in memory that it frees.
func TestWipe(t *testing.T) {
	if sanitize.Enabled || debugmode.Current().Guard || debugmode.Current().Sample > 0 {
		t.Skip("what was freed cannot be read here")
	}
	const secret = 0xA7
	p := offheap.NewPurposeWith("wiped arena", offheap.PurposeOptions{Wipe: true})
	for how, free := range map[string]func(a *Arena){
		"Free":  (*Arena).Free,
		"Reset": func(a *Arena) { a.Reset(GiveBack); a.Free() },
	} {
		a := NewOffHeap(Options{Purpose: p})
		var blocks [][]byte
		for _, n := range []int{1, 100, 5000, 2 << 20} {
			b := MakeSlice[byte](a, n, n)
			for i := range b {
				b[i] = secret
			}
			blocks = append(blocks, b)
		}
		flagged := New[struct {
			data [40]byte
			flag bool
		}](a)
		flagged.data = [40]byte{secret, secret, secret}
		blocks = append(blocks, flagged.data[:])
		free(a)
		for _, b := range blocks {
			if left := count(unsafex.SliceAddr(b), len(b), secret); left != 0 {
				t.Errorf("%s: %d of %d bytes can be read afterwards", how, left, len(b))
			}
		}
	}
}

// panics says whether f does.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// count is how many of n bytes at addr have the value.
//
//go:norace
func count(addr uintptr, n int, value byte) (found int) {
	for _, c := range unsafex.Bytes(addr, uintptr(n)) {
		if c == value {
			found++
		}
	}
	return found
}
