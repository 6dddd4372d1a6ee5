// SPDX-License-Identifier: Apache-2.0

package arena_test

import (
	"fmt"
	"iter"
	"slices"

	"github.com/freehold-go/freehold/arena"
)

// The README shows batches.

type incoming struct{ text string }

func handle(orders []*incoming) (bytes int) {
	for _, o := range orders {
		bytes += len(o.text)
	}
	return bytes
}

func batches(source iter.Seq[[]string]) (total int) {
	a := arena.NewArena()
	defer a.Free()
	for lines := range source {
		var orders []*incoming
		for _, line := range lines {
			o := arena.New[incoming](a)
			o.text = arena.String(a, line) // a copy in the arena
			orders = arena.Append(a, orders, o)
		}
		total += handle(orders)
		a.Reset(arena.Keep) // frees this batch; the next one uses the same memory
	}
	return total
}

func Example_batches() {
	fmt.Println(batches(slices.Values([][]string{{"one", "two"}, {"three"}})))
	// Output: 11
}
