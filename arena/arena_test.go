// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/freehold-go/freehold/internal/sanitize"

	"github.com/freehold-go/freehold"
)

type node struct {
	name string
	next *node
	kids []*node
}

type point struct{ x, y int64 }

type odd struct{ a, b, c byte }

type flag struct{ ok bool }

// caught is what f panics with.
func caught(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// faultless runs f, which may read freed values. Such a read may fault in a debug mode. A sanitizer
// would end the program.
func faultless(f func()) {
	if sanitize.Enabled {
		return
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if fault, ok := r.(interface{ Addr() uintptr }); !ok || fault.Addr() < 1<<12 {
				panic(r)
			}
		}
	}()
	f()
}

func TestNew(t *testing.T) {
	for what, a := range map[string]*Arena{"nil": nil, "Go memory": NewArena(), "shared": NewShared()} {
		var last *node
		for range 3 {
			for i := range 1000 {
				p, o, f, n := New[point](a), New[odd](a), New[flag](a), New[node](a)
				if *p != (point{}) || *o != (odd{}) || *f != (flag{}) || n.name != "" || n.next != nil || n.kids != nil {
					t.Fatalf("%s: a new value is not zero: %v %v %v %v", what, *p, *o, *f, *n)
				}
				*p, *o, *f, *n = point{-1, -1}, odd{255, 255, 255}, flag{true}, node{name: String(a, "abc"), next: last}
				last = n
				if i%100 == 0 {
					last = nil
				}
			}
			last = nil
			a.Reset(Keep)
		}
		a.Free()
	}
}

func TestNewOf(t *testing.T) {
	a := NewArena()
	defer a.Free()
	n := NewOf(a, reflect.TypeFor[node]()).(*node)
	n.name = "x"
	if m := New[node](a); !freehold.HeapMode() && (!a.Owns(n) || !a.Owns(m)) || m == n {
		t.Error("NewOf and New do not allocate from one arena")
	}
}
