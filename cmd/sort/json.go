// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonField returns the value at path. It reads no further than to the value, and checks only what
// it needs to find the way. Of several equal names it takes the first.
func jsonField(text []byte, path []string) (value []byte, ok bool) {
	at := skipSpace(text, 0)
	for _, name := range path {
		if at = jsonMember(text, at, name); at < 0 {
			return nil, false
		}
	}
	end := jsonEnd(text, at)
	return text[at:max(end, at)], end > at
}

// jsonMember returns where the value of a name begins in the object at at, or -1.
func jsonMember(text []byte, at int, name string) int {
	if at >= len(text) || text[at] != '{' {
		return -1
	}
	for {
		at = skipSpace(text, at+1) // behind { or ,
		end := jsonEnd(text, at)
		if end < 0 || text[at] != '"' {
			return -1
		}
		found := string(jsonText(text[at:end])) == name
		if at = skipSpace(text, end); at >= len(text) || text[at] != ':' {
			return -1
		}
		if at = skipSpace(text, at+1); found {
			return at
		}
		if at = jsonEnd(text, at); at < 0 {
			return -1
		}
		if at = skipSpace(text, at); at >= len(text) || text[at] != ',' {
			return -1
		}
	}
}

// jsonEnd returns the end of the value at at, or -1 if it has none.
func jsonEnd(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			for at++; at < len(text) && text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
			if at >= len(text) {
				return -1
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			if depth == 0 {
				return -1
			}
			continue
		default:
			for at+1 < len(text) && strings.IndexByte(" \t\r\n,:{}[]\"", text[at+1]) < 0 {
				at++
			}
		}
		if depth <= 0 {
			break
		}
	}
	if at >= len(text) || depth < 0 {
		return -1
	}
	return at + 1
}

// jsonText returns what a string says. One that is not valid stands for itself.
func jsonText(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	if text, err := jsontext.AppendUnquote(nil, quoted); err == nil {
		return text
	}
	return inner
}

func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}
