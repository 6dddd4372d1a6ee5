// SPDX-License-Identifier: Apache-2.0

package arenajson

// Options change what a document means and how it is decoded. The zero value is encoding/json's meaning.
type Options struct {
	// AliasInput makes strings and json.RawMessage parts of the input, which is not copied: the caller must not
	// change it as long as the values are in use. It saves memory and time; a part in use keeps the whole
	// input alive.
	AliasInput bool
	// UseNumber decodes numbers into an any as json.Number instead of float64.
	UseNumber bool
	// DisallowUnknownFields makes a name that no field of the struct has an error.
	DisallowUnknownFields bool
	// MaxDepth bounds how deeply arrays and objects may be nested. 0 means 10000, which is also the most.
	MaxDepth int
}

const maxDepth = 10000
