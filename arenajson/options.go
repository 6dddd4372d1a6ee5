// SPDX-License-Identifier: Apache-2.0

package arenajson

// Options change what a document means and how it is decoded. The zero value is encoding/json's meaning.
type Options struct {
	// V2 gives documents the meaning that Unmarshal of encoding/json/v2 in Go 1.27 gives them: names are case-sensitive, a
	// name that stands twice in an object and invalid UTF-8 are errors, null makes the zero value, arrays have their exact
	// length, bytes are base64 of RFC 4648, objects are merged into what is there, and the option string of a tag is for
	// numbers alone. The first error ends decoding, and UnmarshalInto leaves what was decoded before it. Errors are a
	// *jsontext.SyntacticError for what is no JSON, and a *json.SemanticError of encoding/json/v2 for other values and for
	// errors of methods. In programs built with Go 1.26, which has no such types, errors have the text of a
	// SemanticError and wrap its cause, or are a *json.SyntaxError.
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

// rules are options of the engine, which follows them as encoding/json/v2 follows those of the names given. Version 2 has
// none of them, version 1 has all.
type rules uint16

const (
	anyCase    rules = 1 << iota // MatchCaseInsensitiveNames, and MatchCaseSensitiveDelimiter.
	repeats                      // AllowDuplicateNames
	anyText                      // AllowInvalidUTF8
	merges                       // MergeWithLegacySemantics
	anyLength                    // UnmarshalArrayFromAnyLength
	looseBytes                   // FormatBytesWithLegacySemantics, FormatByteArrayAsArray, and ParseBytesWithLooseRFC4648.
	nanos                        // FormatDurationAsNano
	looseTimes                   // ParseTimeWithLooseRFC3339
	quotesAll                    // StringifyWithLegacySemantics
	goesOn                       // ReportErrorsWithLegacySemantics
	textKeys                     // CallMethodsWithLegacySemantics

	version1 = rules(1<<iota - 1)
	version2 = rules(0)
)

// What a plan depends on besides. It does not hold for what lies within the value.
const (
	stringTag  rules = 1 << (iota + 14) // The field around the value has the option string.
	memberName                          // The value is a name in an object, for the key of a map.
)

// within are the rules for what lies within a value.
func (r rules) within() rules { return r &^ (stringTag | memberName) }
