// SPDX-License-Identifier: Apache-2.0

package arena_test

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/arena"
)

func ExampleAudit() {
	type user struct {
		Name string
		Tags []string
	}
	a := arena.NewArena()
	defer a.Free()
	for range 3 {
		u := arena.New[user](a)
		u.Name = arena.String(a, "Ada")
		u.Tags = strings.Fields("made on the heap") // Its array is not in the arena.
	}
	fmt.Println(arena.Audit(a))
	// It prints a table:
	//
	//	arena 1, made by …: 3 values with pointers keep at least 192 B outside of it:
	//
	//	  bytes  objects  pointers  lead to  field                 type      instead
	//	  192 B  3        3         Go heap  arena_test.user.Tags  []string  arena.MakeSlice, Append
}
