// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// inspectPointers searches a block for an address of the Go heap.
func (t *tracked) inspectPointers(b *block, op string, look *lookup) *MisuseError {
	off, word, found := look.search(b.addr, b.size, 0)
	if !found {
		return nil
	}
	known := b.known()
	r := misuseReport("heap pointer in off-heap memory",
		fmt.Sprintf("%s, %s into a %s, holds %#x, an address of the Go heap", b.field(off), bytesText(int(off)), known, word), op, b.addr+off, known)
	r.Advice = "The collector does not see it, and frees what it leads to: keep the value off the heap, too, or use package arena."
	return newMisuse(op, r)
}

// field names what lies off bytes into the block: "main.node.next", "[]main.node[3].next", "bytes
// of []byte".
func (b *block) field(off uintptr) string {
	if b.desc == nil {
		return fmt.Sprintf("[]byte[%d:%d]", off, off+ptrSize)
	}
	path := b.desc.typ.String()
	if b.size > b.desc.size {
		path = fmt.Sprintf("[]%s[%d]", path, off/b.desc.size)
	}
	return path + fieldAt(b.desc.typ, off%b.desc.size)
}

// fieldAt is the path to what lies off bytes into a value of type t: ".next", "[3].name".
func fieldAt(t reflect.Type, off uintptr) string {
	switch t.Kind() {
	case reflect.Array:
		if size := t.Elem().Size(); size > 0 {
			return fmt.Sprintf("[%d]%s", off/size, fieldAt(t.Elem(), off%size))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); off-f.Offset < f.Type.Size() {
				return "." + f.Name + fieldAt(f.Type, off-f.Offset)
			}
		}
	}
	return ""
}

// Check searches all memory outside the Go heap for the traces of mistakes that the debug modes can
// find: bytes written behind a block, or to a freed one (FREEHOLD=guard), beside a block on its
// guarded pages (guard), and addresses of the Go heap (pointers). It compares the idle objects of
// package pool with what they were (guard). The error joins a [*MisuseError]
// for each block. It is nil if there are none, or if no such mode is on.
//
// Check reads each block once, at about the speed of memory. Any goroutine may call it at any time.
// If the program writes to a block at the same moment, Check reads the block as it is. Frees wait
// meanwhile.
//
// On 64-bit Linux the mode pointers knows all of the Go heap, which includes goroutines' stacks. On
// other systems it knows the parts of the heap that hold some present objects, so it does not find
// a word that leads to another part. A number that happens to be an address of the Go heap counts
// as one. So do bytes between the fields of a struct that lay in other memory before: an assignment
// may copy them. Package-level variables and constants are not on the heap, so pointers to them are
// allowed.
func Check() error {
	std.start()
	var err error
	if t := std.records(); t != nil {
		err = t.check()
	} else if std.guards != nil {
		err = std.guards.check()
	}
	if others := debugmode.RunChecks(); others != nil {
		return errors.Join(err, others)
	}
	return err
}

func (t *tracked) check() error {
	if !t.marked() {
		return nil
	}
	var found []error
	note := func(e *MisuseError) {
		if e != nil {
			found = append(found, e)
		}
	}
	var look lookup
	if t.modes.Pointers {
		t.goes.refresh()
		look = t.goes.lookup()
	}
	t.blocks.each(func(b *block) {
		note(t.inspectCanary(b, "Check"))
		if t.modes.Pointers {
			note(t.inspectPointers(b, "Check", &look))
		}
	})
	t.freed.each(func(b *block) { note(t.inspectFreed(b)) })
	note(t.late.Swap(nil))
	return errors.Join(found...)
}
