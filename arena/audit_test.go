// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold"
)

type record1 struct {
	name  string
	tags  []string
	next  *record1
	extra any
	m     map[string]int
	many  [6]struct{ b []byte }
	when  time.Time
	err   error
	call  func()
}

func exitOf(r *Report, path, to string) *Exit {
	for i := range r.Exits {
		if r.Exits[i].Path == "arena."+path && r.Exits[i].To == to {
			return &r.Exits[i]
		}
	}
	return nil
}

func TestAuditFinds(t *testing.T) {
	if freehold.HeapMode() {
		if r := Audit(NewArena()); r.Note == "" || len(r.Exits) != 0 {
			t.Errorf("%s", r)
		}
		return
	}
	stopClock(t) // A freed chunk is known as long as it is in the store.
	for name, kind := range map[string]func() *Arena{"arena": NewArena, "shared": NewShared} {
		t.Run(name, func(t *testing.T) {
			a, b := kind(), NewArena()
			defer a.Free()
			shared := strings.Repeat("s", 100)
			for i := range 1000 {
				r := New[record1](a)
				*r = record1{name: fmt.Sprintf("name %4d", i), tags: []string{"x", shared}, extra: i + 1000, when: time.Now(), err: errMade}
				r.many[i%6].b = make([]byte, 10, 16)
				switch i % 4 {
				case 0:
					r.name, r.tags = String(a, r.name), MakeSlice[string](a, 2, 2)
					r.tags[0], r.extra = shared, "a constant"
				case 1:
					r.next, r.name = New[record1](b), "a constant"
				case 2:
					r.next, r.extra, r.m, r.call = New[record1](a), &record1{}, map[string]int{"a": 1}, func() { _ = i }
				}
			}
			r := Audit(a)
			for _, want := range []Exit{
				{Path: "record1.name", Type: reflect.TypeFor[string](), To: toHeap, Pointers: 500, Objects: 500, Bytes: 500 * 9},
				{Path: "record1.tags", Type: reflect.TypeFor[[]string](), To: toHeap, Pointers: 750, Objects: 750, Bytes: 750 * 4 * wordSize},
				{Path: "record1.next", Type: reflect.TypeFor[*record1](), To: fmt.Sprint("arena ", b.ID()), Pointers: 250, Objects: 250, Bytes: 250 * int64(reflect.TypeFor[record1]().Size())},
				{Path: "record1.m", Type: reflect.TypeFor[map[string]int](), To: toHeap, Pointers: 250, Objects: 250, Bytes: 250 * 3 * wordSize},
				{Path: "record1.many[].b", Type: reflect.TypeFor[[]byte](), To: toHeap, Pointers: 1000, Objects: 1000, Bytes: 16000},
				{Path: "record1.call", Type: reflect.TypeFor[func()](), To: toHeap, Pointers: 250, Objects: 250},
			} {
				want.Path = "arena." + want.Path
				if l := exitOf(r, want.Path[6:], want.To); l == nil || *l != want {
					t.Errorf("%+v, want %+v", l, want)
				}
			}
			if l := exitOf(r, "record1.err", toHeap); l != nil {
				t.Errorf("an identity counts as an exit: %+v", l)
			}
			var boxes, strs int64
			for _, l := range r.Exits {
				switch {
				case l.Path == "arena.record1.extra" && l.Type == reflect.TypeFor[int]():
					boxes = l.Objects
				case l.Path == "string" && l.Objects == 1:
					strs = l.Bytes
				}
			}
			if boxes != 500 || strs != 100 || r.Inside < 500 || r.Constant < 250 || r.Values != 1000+250+500 {
				t.Errorf("%d boxes, %d bytes of strings in slices, %+v", boxes, strs, *r)
			}
			for i := 1; i < len(r.Exits); i++ {
				if r.Exits[i].Bytes > r.Exits[i-1].Bytes {
					t.Error("the exits are not in order")
				}
			}
			b.Free()
			if freehold.NoReuseMode() { // b has left its memory to the collector: it is the Go heap's.
				if l := exitOf(Audit(a), "record1.next", toHeap); l == nil || l.Pointers != 250 {
					t.Errorf("memory that was left to the collector: %+v", l)
				}
				return
			}
			if r := Audit(a); exitOf(r, "record1.next", toFreed) == nil || !strings.Contains(r.String(), "a bug") {
				t.Errorf("a freed arena's memory is not told:\n%s", r)
			}
			if testing.Verbose() {
				t.Log("\n" + r.String())
			}
		})
	}
}

func TestAuditNone(t *testing.T) {
	a := NewArena()
	v := DeepClone(a, &record1{name: "n", tags: []string{"a", "b"}, extra: 1 << 20, err: errors.New("e"), next: &record1{extra: "text"}})
	if r := Audit(a); len(r.Exits) != 0 {
		t.Errorf("a deep clone leads out of the arena:\n%s", r)
	}
	if !freehold.HeapMode() && !strings.Contains(Audit(a).String(), "values with pointers, none of which leads out") {
		t.Errorf("%s", Audit(a))
	}
	h := Heap(v)
	a.Free()
	if h.name != "n" || h.tags[1] != "b" || h.next.extra != "text" {
		t.Errorf("%+v", h)
	}
	mustPanic(t, "which was freed", func() { Audit(a) })
	if r := Audit(nil); r.Note == "" || r.String() == "" {
		t.Error("the nil arena needs a note")
	}
	off := NewOffHeap(Options{})
	defer off.Free()
	if r := Audit(off); r.Note == "" {
		t.Error("an arena off the heap needs a note")
	}
}
