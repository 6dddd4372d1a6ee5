// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/offheap"
)

type (
	named  string
	points []point
)

func TestClone(t *testing.T) {
	owning(t)
	for _, k := range kinds {
		a := k.make()
		p := New[point](a)
		p.x = 5
		s := MakeSlice[point](a, 3, 10)
		s[2].y = 6
		text := named(String(a, "text"))
		inner := text[1:3]
		cp, cs, ct, ci, all := Clone(p), Clone(points(s)), Clone(text), Clone(inner), Clone[any](p)
		if cp == p || *cp != *p || a.Owns(cp) || all.(*point) == p {
			t.Errorf("%s: Clone of a pointer", k.name)
		}
		if &cs[0] == &s[0] || !slices.Equal(cs, s) || cap(cs) != 3 || a.Owns(cs) {
			t.Errorf("%s: Clone of a slice", k.name)
		}
		if unsafe.StringData(string(ct)) == unsafe.StringData(string(text)) || ct != text || ci != "ex" || a.Owns(string(ci)) {
			t.Errorf("%s: Clone of a string", k.name)
		}
		a.Free()
		if cp.x != 5 || cs[2].y != 6 || ct != "text" || ci != "ex" {
			t.Errorf("%s: clones die with the arena", k.name)
		}
	}
}

// TestCloneOffHeap: in each mode, the kill switch included, a clone of a value of an off-heap arena
// outlives the arena, whose Purpose wipes values.
func TestCloneOffHeap(t *testing.T) {
	wiped := Options{Purpose: offheap.NewPurposeWith("wiped clones", offheap.PurposeOptions{Wipe: true})}
	shared := wiped
	shared.Shared = true
	for name, a := range map[string]*Arena{"off-heap": NewOffHeap(wiped), "shared": NewOffHeap(shared), "fixed": NewFixed(1 << 16)} {
		p, s, text := New[point](a), MakeSlice[point](a, 3000, 3000), String(a, "text")
		p.y, s[2999].y = 5, 6
		if !a.Owns(p) || !a.Owns(&s[2999]) || !a.Owns(text[1:]) {
			t.Errorf("%s: the arena does not own its values", name)
		}
		cp, cy, cs, ct, ci := Clone(p), Clone(&p.y), Clone(s[2999:]), Clone(text), Clone(text[1:3])
		if a.Owns(cp) || a.Owns(cy) || a.Owns(cs) || a.Owns(ct) || a.Owns(ci) {
			t.Errorf("%s: a clone lies in the arena", name)
		}
		a.Free()
		if cp.y != 5 || *cy != 5 || cs[0].y != 6 || ct != "text" || ci != "ex" {
			t.Errorf("%s: the clones are %v, %v, %v, %q and %q", name, *cp, *cy, cs, ct, ci)
		}
	}
}

// TestCloneUntouched: Clone returns a value that is not in an arena as it is, without a copy.
func TestCloneUntouched(t *testing.T) {
	a := NewArena()
	defer a.Free()
	New[point](a)
	p, s, text := new(point), make([]point, 2), strings.Repeat("x", 10)
	if Clone(p) != p || &Clone(s)[0] != &s[0] || unsafe.StringData(Clone(text)) != unsafe.StringData(text) {
		t.Error("Clone copies what is on the Go heap")
	}
	if Clone((*point)(nil)) != nil || Clone([]int(nil)) != nil || Clone("") != "" {
		t.Error("Clone of nothing is something")
	}
	var local int
	if Clone(&local) != &local {
		t.Error("Clone copies a variable")
	}
	for what, f := range map[string]func(){
		"int":  func() { Clone(5) },
		"map":  func() { Clone(map[int]int{}) },
		"chan": func() { Clone(make(chan int)) },
	} {
		if err, ok := caught(f).(error); !ok || !strings.Contains(err.Error(), what) {
			t.Errorf("Clone of a %s: %v", what, err)
		}
	}
}

func TestOwns(t *testing.T) {
	owning(t)
	for _, k := range kinds {
		a, b := k.make(), k.make()
		p := MakeSlice[point](a, 2, 2)
		q := New[point](b)
		if !a.Owns(p) || !a.Owns(&p[1]) || !a.Owns(&p[1].y) || a.Owns(q) || !b.Owns(q) || a.Owns(new(point)) || a.Owns("text") || a.Owns((*int)(nil)) {
			t.Errorf("%s: Owns is wrong", k.name)
		}
		if caught(func() { a.Owns(5) }) == nil {
			t.Errorf("%s: Owns of a number", k.name)
		}
		a.Reset(Keep)
		if a.Owns(p) {
			t.Errorf("%s: Owns what was given up", k.name)
		}
		a.Free()
		b.Free()
	}
}

// TestAppendInPlace: the slice that was made last grows where it is, and no other.
func TestAppendInPlace(t *testing.T) {
	chunked(t)
	// A shared arena has a part for each P: values made on another P lie elsewhere.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, k := range kinds {
		a := k.make()
		s := MakeSlice[int64](a, 2, 2)
		g := Append(a, s, 3)
		if &g[0] != &s[0] && !sampling() { // On guarded pages there is no room behind it.
			t.Errorf("%s: the last slice is copied", k.name)
		}
		h := Append(a, s, 4) // s ends before g's third element.
		if &h[0] == &s[0] || g[2] != 3 || h[2] != 4 {
			t.Errorf("%s: Append to a slice that grew before", k.name)
		}
		g = g[:cap(g)]
		later := New[int64](a)
		*later = 7
		m := Append(a, g, 1)
		if &m[0] == &g[0] && !sampling() || *later != 7 { // If the later value lies on guarded pages, the slice may grow.
			t.Errorf("%s: a slice grows over a later value", k.name)
		}
		a.Free()
	}
}

// TestAppendForeign: slices of another arena and of the Go heap are copied, and left alone.
func TestAppendForeign(t *testing.T) {
	owning(t)
	for _, k := range kinds {
		a, b := k.make(), k.make()
		heap := []int64{1, 2}
		other := MakeSlice[int64](b, 2, 2)
		for _, s := range [][]int64{heap, other, heap[:0:0], nil} {
			g := Append(a, s, 3)
			if len(s) > 0 && (&g[0] == &s[0]) || !a.Owns(g) || g[len(s)] != 3 {
				t.Errorf("%s: Append to a foreign slice", k.name)
			}
		}
		if g := Append(a, heap[:1], 5); &g[0] != &heap[0] {
			t.Errorf("%s: a slice with room is copied", k.name)
		}
		a.Free()
		if other[0] = 1; other[1] != 0 || !b.Owns(other) {
			t.Errorf("%s: the other arena's slice changed", k.name)
		}
		b.Free()
	}
}

// TestAppendBefore: a foreign slice that ends where the chunk begins is not extended.
func TestAppendBefore(t *testing.T) {
	block := make([]int64, 16)
	c := newChunk(wordFlow, nil, 0, unsafe.Pointer(&block[8]), 64)
	b := &bump{chunk: c, flow: wordFlow, in: new(state)}
	c.open()
	addr := uintptr(unsafe.Pointer(&block[6]))
	if n := b.extend(addr, 16, 24, 32, 8, false); n != 0 || c.used != 0 {
		t.Errorf("a block in front of the chunk grows by %d bytes", n)
	}
}

func TestBuilderKeepsStrings(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		b := NewBuilder(a)
		var built []string
		for i := range 2000 {
			_ = b.WriteByte(byte('a' + i%26))
			if i%100 == 0 {
				String(a, "between")
			}
			if i%3 == 0 {
				_, _ = b.WriteRune('ä')
			}
			built = append(built, b.String())
		}
		want := b.String()
		for i, s := range built {
			if !strings.HasPrefix(want, s) || i > 0 && len(s) <= len(built[i-1]) {
				t.Fatalf("%s: string %d changed", k.name, i)
			}
		}
		b.Reset()
		if b.Len() != 0 || b.String() != "" || built[1999] != want {
			t.Errorf("%s: Reset", k.name)
		}
		a.Free()
	}
}
