// SPDX-License-Identifier: Apache-2.0

package arenasuite

import (
	"errors"
	"reflect"
	"testing"
)

// Arena names what the arena suite needs of one arena: memory for values of several types that die
// together. Most of it is generic in a library, and generic functions cannot stand in an interface,
// so each is a field. A nil field is not checked, except where its comment says that it is needed.
//
// A function without an error result may panic with an error instead; the suite takes it as one.
type Arena struct {
	// Types are the ways to make values. It needs at least one; the same type may be in it several
	// times, once for each way. Each is a [Funcs].
	Types []Type

	// NewOf returns a pointer to a zero value of a type that is known at run time only.
	NewOf func(t reflect.Type) (any, error)

	// Texts are ways to make a string of parts that are put one behind the other.
	Texts []func(parts ...string) (string, error)

	// Resets are ways to free all values; the arena can be used again afterwards.
	Resets []func()

	// Checkpoint notes a moment, and Rewind frees the values made since. A checkpoint may be
	// rewound to again and again, until the arena is reset or rewound to an earlier one.
	Checkpoint func() any
	Rewind     func(checkpoint any)

	// Free frees all values and ends the arena. It is required.
	Free func()

	// SetLimit bounds the bytes that the arena holds, 0 for no bound, and returns the bound before.
	SetLimit func(n int64) (old int64)

	// Held is the bytes that the arena has taken, InUse those of them that values take.
	Held, InUse func() int64

	// Owns says whether a pointer, a slice or a string leads to a value of this arena.
	Owns func(v any) bool

	// Clone returns a copy of what a pointer or a slice in the arena leads to that lives on when
	// the arena is freed. The copy is a shallow one.
	Clone func(v any) any

	// Uses are calls of every function of the arena that must panic once it is freed, with a
	// message that has the word "freed" in it.
	Uses map[string]func()

	// Iterate fills a container in the arena with n values and calls visit for each as long as
	// visit returns. If visit frees or resets the arena, Iterate may panic with an error that says
	// so, or go on, but must end.
	Iterate map[string]func(n int, visit func())

	// Holds are ways to make a value that holds the pointer p, which leads to the Go heap.
	Holds map[string]func(p *Held)
}

// Held is what values of an arena point to in the check that nothing stays reachable through an
// arena that was freed or reset.
type Held struct {
	Text string
	Room [56]byte
}

// A Type is a way to make values of one type in an arena: a [Funcs].
type Type interface {
	name() string
	typ() reflect.Type
	allocate() error
	make(seed int, inner bool) (*value, error)
	adopt(p any, seed int) (*value, error)
	makeSlice(seed, length, capacity int, full, inner bool) (*value, error)
	grow(m appendOf) (*value, error)
	limits() func(length, capacity int) error
}

// Funcs names functions of one arena that make values of one type. It is a [Type].
type Funcs[T any] struct {
	// New returns a zero value. It is needed.
	New func() (*T, error)

	// MakeSlice returns a slice whose elements are zero up to its capacity. A negative length, or
	// one above the capacity, panics; a slice that cannot be had is an error.
	MakeSlice func(length, capacity int) ([]T, error)

	// Append is append for any slice. The old one stays as it is.
	Append func(s []T, elems ...T) ([]T, error)

	// Value returns the i-th of a series of values, always the same for one i, which differs from
	// its neighbours and from the zero value. What it points to is on the Go heap. It is needed.
	Value func(i int) T

	// Inner moves what v points to into the arena and returns a v that points there.
	Inner func(v T) (T, error)

	// Stale checks a freed value, whose memory may have been allocated again, any number of times.
	// It returns an error if the value is one that T must never have. Where memory of T is T's for
	// good, that is any that is neither zero nor made by Value and Inner.
	Stale func(v *T) error
}

// Config says what the arenas under test promise. Its zero value, with New set, is the least.
type Config struct {
	// New returns a fresh arena. The suite frees it. It is needed.
	New func(t testing.TB) *Arena

	// Misuse says that whatever is done to an arena that was freed panics with a message that has
	// "freed" in it, Free included; and that Rewind panics for the checkpoint of another arena and
	// for one that was passed by.
	Misuse bool

	// Drops says that nothing is reachable through an arena that was freed, reset or rewound.
	Drops bool

	// Forgets says that the values of an arena that was dropped without Free live on as long as
	// they are reachable.
	Forgets bool

	// Concurrent says that several goroutines may use an arena at once.
	Concurrent bool

	// Full says that an arena is small and refuses what does not fit with ErrLimit.
	Full bool

	// LooseLimits says that an arena may hold more than its limit, as where a limit is asked now
	// and then only.
	LooseLimits bool

	// MaxBytes is about the largest slice of a stream, in bytes. Zero means 256 KiB.
	MaxBytes int

	// ErrOutOfMemory is what errors.Is finds in the error for memory that cannot be had, ErrLimit
	// in that for memory that a limit forbids. If one is nil, any error will do.
	ErrOutOfMemory, ErrLimit error
}

// withDefaults returns the configuration with its zero sizes replaced.
func (c Config) withDefaults() Config {
	if c.MaxBytes == 0 {
		c.MaxBytes = 256 << 10
	}
	return c
}

// isOOM reports whether err is the error promised for memory that cannot be had.
func (c *Config) isOOM(err error) bool {
	return err != nil && (c.ErrOutOfMemory == nil || errors.Is(err, c.ErrOutOfMemory))
}

// isLimit reports whether err is the error promised for a limit reached.
func (c *Config) isLimit(err error) bool {
	return err != nil && (c.ErrLimit == nil || errors.Is(err, c.ErrLimit))
}
