// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// readStale runs all programs that use a value too late, on Go memory, and prints what each has
// read.
func readStale() {
	churning = true
	for _, family := range [][]Case{stale(), decoded(), races()} {
		for _, c := range family {
			if strings.HasPrefix(c.Name, "race-") && c.Name != "race-free" && c.Name != "race-reset" {
				continue // Nothing is freed there.
			}
			for _, v := range []Variant{Pointers, Plain} {
				if c.Run[v] == nil {
					continue
				}
				before := sum
				if err := c.Start(v, false); err != nil {
					panic(err)
				}
				fmt.Println(c.Name, v, sum-before)
			}
		}
	}
}
