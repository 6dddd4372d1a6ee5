// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/freehold-go/freehold/sink/record"
)

// AppendJSON appends a message as ProtoJSON, in one line and without spaces. Members stand in the order of the .proto file, and names of maps are sorted.
// The error is a *record.Bad if the bytes are no message of the type, or one that ProtoJSON cannot express. Then the result is dst as it was.
func (t *Type) AppendJSON(dst, value []byte) ([]byte, error) {
	if err := t.check(value, deepest); err != nil {
		return dst, err
	}
	r := take()
	defer r.release()
	return r.appended(dst, func() error { return r.message(t, value, deepest, false) })
}

// appended appends what write writes. After an error the result is dst as it was.
func (r *reader) appended(dst []byte, write func() error) ([]byte, error) {
	scratch := r.out
	r.out = dst
	err := write()
	result := r.out
	r.out = scratch
	if err != nil {
		return result[:len(dst)], err
	}
	return result, nil
}

// message writes a message. In a partial one required fields may be missing.
func (r *reader) message(t *Type, b []byte, depth int, partial bool) error {
	if depth--; depth < 0 {
		return errDepth
	}
	if t.known != 0 {
		return r.wellKnown(t, b, depth, partial)
	}
	r.out = append(r.out, '{')
	if err := r.members(t, b, depth, partial, false); err != nil {
		return err
	}
	r.out = append(r.out, '}')
	return nil
}

// members writes the fields of a message, with a comma in front if there is something before them.
func (r *reader) members(t *Type, b []byte, depth int, partial, before bool) error {
	base, err := r.scan(t, b, partial)
	if err != nil {
		return err
	}
	for i := range t.fields {
		s := r.slots[base+i]
		if s.first == 0 {
			continue
		}
		f, start := &t.fields[i], len(r.out)
		if before {
			r.out = append(r.out, ',')
		}
		r.out = append(r.out, f.member...)
		written, err := r.field(f, b, s, depth, partial)
		if err != nil {
			return err
		}
		if !written {
			r.out = r.out[:start]
		}
		before = before || written
	}
	r.slots = r.slots[:base]
	return nil
}

// field writes the value of a field that stands in b. It writes nothing, and says so, if the field counts as not set: a zero without presence, an empty list.
func (r *reader) field(f *field, b []byte, s slot, depth int, partial bool) (written bool, err error) {
	switch {
	case f.entry != nil:
		return true, r.mapping(f, b, s, depth, partial)
	case f.list:
		return r.elements(f, b, s, depth, partial)
	case f.message != nil:
		mark := len(r.joined)
		content, err := r.join(f, b, s)
		if err == nil {
			err = r.message(f.message, content, depth, partial)
		}
		r.joined = r.joined[:mark]
		return true, err
	}
	bits, content, _, n := f.value(b[s.last-1:])
	switch {
	case n < 0:
		return false, errWire
	case !f.presence && bits == 0 && len(content) == 0:
		return false, nil
	}
	return true, r.one(f, bits, content, depth, partial)
}

// elements writes a list.
func (r *reader) elements(f *field, b []byte, s slot, depth int, partial bool) (written bool, err error) {
	open := byte('[')
	err = f.each(b, s, func(bits uint64, content []byte) error {
		r.out = append(r.out, open)
		open = ','
		return r.one(f, bits, content, depth, partial)
	})
	if open == '[' {
		return false, err
	}
	r.out = append(r.out, ']')
	return true, err
}

// one writes a value.
func (r *reader) one(f *field, bits uint64, content []byte, depth int, partial bool) error {
	switch f.kind {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return r.message(f.message, content, depth, partial)
	case protoreflect.StringKind:
		return r.text(content)
	case protoreflect.BytesKind:
		r.out = append(r.out, '"')
		r.out = base64.StdEncoding.AppendEncode(r.out, content)
		r.out = append(r.out, '"')
	case protoreflect.BoolKind:
		r.out = strconv.AppendBool(r.out, bits != 0)
	case protoreflect.EnumKind:
		r.out = f.enum.append(r.out, int32(bits))
	case protoreflect.FloatKind:
		r.out = appendFloat(r.out, float64(math.Float32frombits(uint32(bits))), 32)
	case protoreflect.DoubleKind:
		r.out = appendFloat(r.out, math.Float64frombits(bits), 64)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		r.out = append(r.out, '"')
		r.out = append(f.appendInteger(r.out, bits), '"')
	default:
		r.out = f.appendInteger(r.out, bits)
	}
	return nil
}

// appendInteger appends the digits of an integer.
func (f *field) appendInteger(dst []byte, bits uint64) []byte {
	switch f.kind {
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return strconv.AppendUint(dst, bits, 10)
	}
	return strconv.AppendInt(dst, int64(bits), 10)
}

// append appends the name of a number, or the number if it has none.
func (e *enum) append(dst []byte, n int32) []byte {
	if e.null {
		return append(dst, "null"...)
	}
	if name, ok := e.names[n]; ok {
		return append(dst, name...)
	}
	return strconv.AppendInt(dst, int64(n), 10)
}

// appendFloat writes numbers as encoding/json does, and those that JSON does not have as strings.
func appendFloat(dst []byte, x float64, size int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(x); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, x, format, -1, size)
}

var errText = &record.Bad{Err: errors.New("the value has a string that is not UTF-8, which JSON cannot have")}

// text writes a string.
func (r *reader) text(s []byte) error {
	if !utf8.Valid(s) {
		return errText
	}
	r.out = append(r.out, '"')
	from := 0
	for i := plain(s, 0); i < len(s); i = plain(s, i+1) {
		r.out = append(r.out, s[from:i]...)
		r.out = appendEscape(r.out, s[i])
		from = i + 1
	}
	r.out = append(r.out, s[from:]...)
	r.out = append(r.out, '"')
	return nil
}

// plain is the index of the first byte from i on that must be escaped, or the length.
func plain(s []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		// The high bit of each byte that is less than a space, a quote or a backslash. Bytes behind such a one may have it wrongly.
		if ((x-ones*' ')&^x|(quote-ones)&^quote|(slash-ones)&^slash)&highs != 0 {
			break
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', '0'+c>>4, "0123456789abcdef"[c&15])
}
