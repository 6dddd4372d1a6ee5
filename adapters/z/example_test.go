// SPDX-License-Identifier: Apache-2.0

package z_test

import (
	"fmt"

	"github.com/freehold-go/freehold/adapters/z"
)

func Example() {
	before := z.NumAllocBytes()
	b := z.Calloc(1<<20, "index")
	fmt.Println(len(b), z.NumAllocBytes()-before)
	z.Free(b)
	// Output: 1048576 1048576
}
