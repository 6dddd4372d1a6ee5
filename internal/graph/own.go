// SPDX-License-Identifier: Apache-2.0

// Package graph has the types that copy themselves in a deep copy.
package graph

import (
	"reflect"
	"sync"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Copier copies a value of a type of freehold's own, whose fields alone do not say what they lead
// to. From is the address of the value and to that of its copy. Alloc returns
// memory for n values of a type, all of which the Copier overwrites. The error says why the value
// cannot be copied.
type Copier func(alloc func(t reflect.Type, n int) (unsafex.Ptr, error), from, to unsafex.Ptr) error

var copiers sync.Map // from reflect.Type to Copier

// RegisterCopier has deep copies copy values of type T by f. The package that declares T calls it
// when it is initialised.
func RegisterCopier[T any](f Copier) { copiers.Store(reflect.TypeFor[T](), f) }

// CopierOf returns the Copier of a type, or nil.
func CopierOf(t reflect.Type) Copier {
	if f, ok := copiers.Load(t); ok {
		return f.(Copier)
	}
	return nil
}
