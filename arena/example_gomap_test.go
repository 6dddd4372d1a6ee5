// SPDX-License-Identifier: Apache-2.0

package arena_test

import (
	"fmt"

	"github.com/freehold-go/freehold/arena"
)

// Words are counted line by line. One map serves all lines.
func ExampleGoMap() {
	a := arena.NewArena()
	defer a.Free()
	for _, line := range [][]string{{"to", "be", "or", "not", "to", "be"}, {"that", "is", "it"}} {
		count := arena.GoMap[string, int](a, len(line))
		for _, word := range line {
			count[word]++
		}
		fmt.Println(len(count), count["be"])
		a.Reset(arena.Keep)
	}
	// Output:
	// 4 2
	// 3 0
}
