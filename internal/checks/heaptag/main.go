// SPDX-License-Identifier: Apache-2.0

// Command heaptag says whether blocks come from the Go heap.
//
// docs/moving-over.md shows its file goheap.go.
package main

import (
	"fmt"

	"github.com/freehold-go/freehold"
)

func main() { fmt.Println(freehold.HeapMode()) }
