// Command cfault lets C read an off-heap block after its free.
package main

/*
static char readByte(char *p) { return *p; }
*/
import "C"

import (
	"unsafe"

	"github.com/freehold-go/freehold/offheap"
)

func main() {
	b := offheap.Alloc(100)
	p := unsafe.Pointer(&b[7])
	offheap.Free(b)
	C.readByte((*C.char)(p))
}
