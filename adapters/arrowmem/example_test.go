// SPDX-License-Identifier: Apache-2.0

package arrowmem_test

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freehold-go/freehold/adapters/arrowmem"
	"github.com/freehold-go/freehold/offheap"
)

func Example() {
	columns := offheap.NewPurpose("columns")
	columns.SetLimit(1 << 30) // Beyond it builders panic with offheap.ErrLimit.
	allocator := arrowmem.NewAllocator(arrowmem.Options{Purpose: columns})

	builder := array.NewInt64Builder(allocator)
	defer builder.Release()
	for i := range 1_000_000 {
		builder.Append(int64(i))
	}
	column := builder.NewInt64Array()
	defer column.Release() // Arrow's rule, which the Go heap forgives and this memory does not.
	fmt.Println(column.Len(), column.Value(999_999))
	// Output: 1000000 999999
}
