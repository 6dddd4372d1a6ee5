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
	// ValuesForAny decodes into an any a [Value] instead of a map[string]any, []any, string, float64 or bool: the tree
	// that [Parse] makes of the value. null is a Value, too, of the kind [Null]. Numbers stay as they are written,
	// so that none is out of range; names that stand twice in an object stay twice. A pointer that an any
	// holds is decoded into, as without this option. The Values are valid as long as the arena's values.
	ValuesForAny bool
	// MaxDepth bounds how deeply arrays and objects may be nested. 0 means 10000, which is also the most.
	MaxDepth int
}

const maxDepth = 10000
