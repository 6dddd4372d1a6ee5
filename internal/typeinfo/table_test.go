// SPDX-License-Identifier: Apache-2.0

package typeinfo

import (
	"reflect"
	"sync"
	"testing"
)

type described struct {
	key  uintptr
	size uintptr
}

func describedTable() *Table[described] {
	t := new(Table[described])
	t.Init(func(d *described, key uintptr, t reflect.Type) { d.key, d.size = key, t.Size() })
	return t
}

// TestTableOlder puts more types into one place of the table than it shows at first sight.
func TestTableOlder(t *testing.T) {
	table := describedTable()
	var first [8]*described
	word := reflect.TypeFor[uint64]()
	for i := range first {
		key := uintptr(64 + i*tableSize*32) // All of one hash.
		if d, ok := table.Recent(key); ok {
			t.Fatalf("Recent finds %+v for a type that the table never saw", d)
		}
		first[i] = table.Find(key, word)
		if first[i].key != key || first[i].size != 8 {
			t.Errorf("the description of type %d is %+v", i, first[i])
		}
		if d, ok := table.Recent(key); !ok || d != first[i] {
			t.Errorf("Recent does not find the newest description, of type %d", i)
		}
	}
	for i, d := range first {
		if key := uintptr(64 + i*tableSize*32); table.Find(key, word) != d {
			t.Errorf("type %d has a second description", i)
		} else if _, ok := table.Recent(key); ok != (i == len(first)-1) {
			t.Errorf("Recent finds type %d: %t; it must find the newest of a hash only", i, ok)
		}
	}
}

// TestTableOnce looks up the same types from several goroutines. All get the same descriptions.
func TestTableOnce(t *testing.T) {
	table := describedTable()
	const goroutines, types = 8, 64
	var got [goroutines][types]*described
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range types {
				elem := reflect.ArrayOf(i, reflect.TypeFor[byte]())
				got[g][i] = table.Find(KeyOf(elem), elem)
			}
		})
	}
	wg.Wait()
	for i := range types {
		for g := range goroutines {
			if d := got[g][i]; d != got[0][i] || d.size != uintptr(i) {
				t.Fatalf("goroutine %d got %+v for an array of %d bytes, goroutine 0 got %+v", g, d, i, got[0][i])
			}
		}
	}
}
