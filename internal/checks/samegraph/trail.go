// SPDX-License-Identifier: Apache-2.0

package samegraph

import (
	"fmt"
	"strings"
)

// A trail is the way to a value: names of fields, numbers of elements and keys of maps.
type trail []any

func (t trail) String() string {
	var b strings.Builder
	b.WriteString("v")
	for _, s := range t {
		if i, ok := s.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
		} else {
			fmt.Fprint(&b, s)
		}
	}
	return b.String()
}
