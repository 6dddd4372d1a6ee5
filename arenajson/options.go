// SPDX-License-Identifier: Apache-2.0

package arenajson

// Options change what a document means and how it is decoded. The zero value is encoding/json's meaning.
type Options struct {
	// V2 gives documents the meaning that Unmarshal of encoding/json/v2 gives them, in the Go release that the program is
	// built with: names are case-sensitive, a name that stands twice in an object and invalid UTF-8 are errors, null
	// makes the zero value, arrays have their exact length, bytes are base64 of RFC 4648, objects are merged into what
	// is there, and tags have the options case, inline, unknown, format, and string for numbers at any depth. The first
	// error ends decoding, and UnmarshalInto leaves what was decoded before it. Errors have the types that
	// exist without version 2: *json.SyntaxError for what is no JSON, *json.UnmarshalTypeError for a value of the
	// wrong kind or out of range, the errors of methods, and otherwise errors that only have a text.
	// Methods UnmarshalJSONFrom are called in programs built with GOEXPERIMENT=jsonv2.
	V2 bool
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
