// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// KindOf returns the kind of expression that took most of the time in the allocator, "" if the
// entries do not tell. Entries are the times by the runtime's function that the program called.
// KindAppend is the answer only if there is no other kind, because the compiler says nothing about
// what append and maps allocate.
func KindOf(entries map[string]float64) Kind {
	kinds := map[Kind]float64{}
	for entry, ns := range entries {
		kinds[kindOfEntry(entry)] += ns
	}
	best := Kind("")
	for _, k := range []Kind{KindNew, KindSlice, KindString, KindInterface, KindMap} {
		if kinds[k] > kinds[best] || best == "" && kinds[k] > 0 {
			best = k
		}
	}
	if best == "" && kinds[KindAppend] > 0 {
		best = KindAppend
	}
	return best
}

// kindOfEntry is the kind of expression that calls the allocator by this function of the runtime.
func kindOfEntry(entry string) Kind {
	for _, k := range []struct {
		prefix string
		kind   Kind
	}{
		{"runtime.newobject", KindNew}, {"runtime.malloc", KindNew}, {"runtime.makeslice", KindSlice}, {"runtime.convT", KindInterface}, {"runtime.makemap", KindMap},
		{"runtime.growslice", KindAppend}, {"runtime.mapassign", KindAppend},
	} {
		if strings.HasPrefix(entry, k.prefix) {
			return k.kind
		}
	}
	if stack.MakesText(entry) {
		return KindString
	}
	return ""
}
