// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"reflect"
	"sync"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Copier copies a value of a type of freehold's own, whose fields alone do not say what they lead
// to. From is the address of the value and to that of its copy, which is zero. Alloc returns zeroed
// memory for n values of a type; it does not return if there is none. The error says why the value
// cannot be copied.
type Copier func(alloc func(t reflect.Type, n int) unsafex.Ptr, from, to unsafex.Ptr) error

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
