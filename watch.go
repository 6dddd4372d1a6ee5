// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"os"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// With guard or sample in the variable, this process watches a child that is the program. It must
// begin before main: what main has done cannot be done again. A wrong word is reported later.
func init() {
	o, _, _ := parseWords(os.Getenv("FREEHOLD"))
	if (o.Guard || o.Sample != 0) && !o.Heap {
		debugmode.Watch()
	}
}
