// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/internal/sizeclass"
)

// TestLayout holds what the fast paths and the metadata rely on.
func TestLayout(t *testing.T) {
	if n := unsafe.Sizeof(span{}); n > spanBytes {
		t.Errorf("a span's record is %d bytes, more than the %d that group words follow", n, spanBytes)
	}
	if n := unsafe.Sizeof(slot{}); n != 64 {
		t.Errorf("a slot is %d bytes, want a cache line of 64", n)
	}
	if n := unsafe.Offsetof(slots{}.bins); n != 64 {
		t.Errorf("the slots of a holder begin at offset %d, want a whole cache line, 64", n)
	}
	for class := range uint32(sizeclass.Count) {
		var b bin
		b.shape(sizeclass.Size(class))
		if n := unsafe.Sizeof([pageBins]slot{}); roundUp(recordBytes(b.groups()), metaAlign) >= n {
			t.Errorf("a slab's record of class %d is not shorter than a page of slots, %d bytes: a page may be a record that was used", class, n)
		}
	}
	if n := reflect.TypeFor[origin]().NumField(); n > 4 {
		t.Errorf("a Typed has %d fields: the compiler keeps a struct of more than 4 on the stack, and each call writes it there", n)
	}
	if n := unsafe.Sizeof(Ref[int]{}); n != 8 {
		t.Errorf("a Ref is %d bytes, want 8", n)
	}
	if n, end := unsafe.Sizeof(fileHeader{}), unsafe.Offsetof(fileHeader{}.layout); n != fileStart || end != 40 {
		t.Errorf("a file header is %d bytes, want %d; its first part is %d, checkHeader reads 40", n, fileStart, end)
	}
}
