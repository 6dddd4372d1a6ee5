// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckGroup says in its error what is wrong with a group, as Partitioner.Group describes it.
func CheckGroup(group []byte) error {
	switch {
	case len(group) == 0:
		return nil
	case len(group) > MaxGroup:
		return fmt.Errorf("a group of %d bytes; at most %d are allowed", len(group), MaxGroup)
	case !utf8.Valid(group):
		return fmt.Errorf("the group %q is not UTF-8", group)
	case bytes.ContainsFunc(group, unicode.IsControl):
		return fmt.Errorf("the group %q has a control character", group)
	}
	for name := range bytes.SplitSeq(group, []byte{'/'}) {
		switch {
		case len(name) == 0:
			return fmt.Errorf("the group %q has an empty name: a slash at an end, or two in a row", group)
		case string(name) == "." || string(name) == "..":
			return fmt.Errorf("the group %q has the name %q, which leads out of its folder", group, name)
		case len(name) > 255:
			return fmt.Errorf("the group %q has a name of %d bytes; file systems take 255", group, len(name))
		}
	}
	return nil
}

// checkName checks the name in front of a value. It must not end the name of the path.
func checkName(name string) error {
	if len(name) > 64 || strings.ContainsAny(name, "/=%") {
		return fmt.Errorf("the name %q: at most 64 bytes are allowed, and no slash, equals sign or percent sign", name)
	}
	return CheckGroup([]byte(name))
}

// checkFallback checks the group of records that lack a value.
func checkFallback(option, group string) error {
	if err := CheckGroup([]byte(group)); err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	return nil
}
