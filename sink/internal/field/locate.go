// SPDX-License-Identifier: Apache-2.0

package field

import (
	"bytes"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
)

// The functions of this file look for one field and read nothing behind it. They follow brackets and quotes and check little else.

// locate is the text of a field, or nil if the value has none. Not ok means that the value is no JSON, as far as it was read.
// Of fields with equal names it takes the first.
func locate(a *arena.Arena, value []byte, path Path) (text []byte, ok bool) {
	i := space(value, 0)
	for _, name := range path {
		if c := at(value, i); c != '{' {
			return nil, bytes.IndexByte([]byte(`["-0123456789tfn`), c) >= 0 // A value of another type has no fields.
		}
		if i, ok = member(a, value, i, name); !ok || i < 0 {
			return nil, ok
		}
	}
	end := skip(value, i)
	if end < 0 {
		return nil, false
	}
	return value[i:end], true
}

// member is the index of the value of a name in the object at i, or -1 if there is none.
func member(a *arena.Arena, value []byte, i int, name string) (int, bool) {
	i = space(value, i+1)
	if at(value, i) == '}' {
		return -1, true
	}
	for {
		if at(value, i) != '"' {
			return -1, false
		}
		end := skipString(value, i)
		if end < 0 {
			return -1, false
		}
		key := value[i+1 : end-1]
		if i = space(value, end); at(value, i) != ':' {
			return -1, false
		}
		i = space(value, i+1)
		if same(a, key, name) {
			return i, i < len(value)
		}
		if i = skip(value, i); i < 0 {
			return -1, false
		}
		i = space(value, i)
		switch at(value, i) {
		case ',':
			i = space(value, i+1)
		case '}':
			return -1, true
		default:
			return -1, false
		}
	}
}

// same compares a name between quotes with a plain one.
func same(a *arena.Arena, key []byte, name string) bool {
	if string(key) == name {
		return true
	}
	if len(key) <= len(name) || bytes.IndexByte(key, '\\') < 0 {
		return false // Escapes are longer than what they mean.
	}
	quoted := arena.MakeSlice[byte](a, 0, len(key)+2)
	quoted = append(append(append(quoted, '"'), key...), '"')
	v, err := arenajson.Parse(a, quoted, alias)
	return err == nil && v.Text() == name
}

// at is the byte at i, or 0 at the end.
func at(value []byte, i int) byte {
	if i < len(value) {
		return value[i]
	}
	return 0
}

// space is the index of the first byte from i on that is no white space.
func space(value []byte, i int) int {
	for i < len(value) && value[i] <= ' ' && (value[i] == ' ' || value[i] == '\n' || value[i] == '\t' || value[i] == '\r') {
		i++
	}
	return i
}

// skip is the index behind the value that begins at i, or -1 if it does not end.
func skip(value []byte, i int) int {
	switch at(value, i) {
	case '"':
		return skipString(value, i)
	case '{', '[':
		return skipNested(value, i)
	}
	from := i
	for i < len(value) && value[i] > ' ' && value[i] != ',' && value[i] != '}' && value[i] != ']' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// skipString is skip for the string whose quote is at i.
func skipString(value []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(value[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slash := i
		for value[slash-1] == '\\' {
			slash--
		}
		if (i-slash)%2 == 0 {
			return i + 1
		}
	}
}

// skipNested is skip for the object or array at i.
func skipNested(value []byte, i int) int {
	depth := 0
	for i < len(value) {
		switch value[i] {
		case '"':
			if i = skipString(value, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
