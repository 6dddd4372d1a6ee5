// SPDX-License-Identifier: Apache-2.0

package arena

import "github.com/freehold-go/freehold/internal/unsafex"

// wordSize is the size of a pointer.
const wordSize = 4 << (^uintptr(0) >> 63)

// load reads the pointer at p.
func load(p unsafex.Ptr) unsafex.Ptr { return *unsafex.As[unsafex.Ptr](p) }

// put writes the pointer at p.
func put(p, v unsafex.Ptr) { *unsafex.As[unsafex.Ptr](p) = v }

// loadWord reads the i-th word behind p.
func loadWord(p unsafex.Ptr, i uintptr) uintptr {
	return *unsafex.As[uintptr](unsafex.Add(p, i*wordSize))
}

// putWord writes the i-th word behind p.
func putWord(p unsafex.Ptr, i, v uintptr) { *unsafex.As[uintptr](unsafex.Add(p, i*wordSize)) = v }
