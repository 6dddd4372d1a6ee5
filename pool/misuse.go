// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/offheap"
)

// noCopy makes go vet report copies of a struct that has a field of this type.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// misuse is the mistake of a call of op, such as "Slab.New". before is where the call stands that
// made this one a mistake, or 0.
func misuse(op, kind, detail string, before place) *offheap.MisuseError {
	e := &offheap.MisuseError{Op: op, Kind: kind, Detail: detail, Here: here().String()}
	e.Report = fmt.Sprintf("pool: %s: %s: %s", op, kind, detail)
	if before != 0 {
		e.Freed = before.String()
		e.Report += fmt.Sprintf("\n  ended by:\n%s  this %s:\n%s", e.Freed, op, strings.TrimSuffix(e.Here, "\n"))
	}
	return e
}

// copied is the mistake of a call of op on a copy of a what.
func copied(op, what string) *offheap.MisuseError {
	return misuse(op, "use of a copy", "this "+what+" is a copy of one that is in use; pass a pointer to the original", 0)
}

// A place is where something happened: a debugmode.Stack plus one, also if that is not known. 0 is
// nowhere.
type place uint64

// here is the place of the program's call that led here.
func here() place { return place(debugmode.Callers(0)) + 1 }

func (p place) String() string { return debugmode.Stack(p - 1).String() }
