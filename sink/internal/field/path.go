// SPDX-License-Identifier: Apache-2.0

// Package field finds fields of JSON values by their paths.
package field

import (
	"errors"
	"fmt"
	"strings"
)

// A Path leads to a field through the names of objects.
type Path []string

// ParsePath reads a path in its written form: names with dots between them, "user.address.city". A dot or backslash that belongs to a name has a
// backslash in front.
func ParsePath(text string) (Path, error) {
	if text == "" {
		return nil, errors.New("the path of a field is empty")
	}
	var p Path
	var name strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '.':
			p = append(p, name.String())
			name.Reset()
		case '\\':
			if i++; i == len(text) || text[i] != '.' && text[i] != '\\' {
				return nil, fmt.Errorf(`the path %q has a backslash that is not in front of a dot or backslash`, text)
			}
			name.WriteByte(text[i])
		default:
			name.WriteByte(c)
		}
	}
	p = append(p, name.String())
	for _, step := range p {
		if step == "" {
			return nil, fmt.Errorf("the path %q has an empty name", text)
		}
	}
	return p, nil
}

// Name is the last name of a path.
func (p Path) Name() string { return p[len(p)-1] }
