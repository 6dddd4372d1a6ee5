// SPDX-License-Identifier: Apache-2.0

package objectkey

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	sink "github.com/freehold-go/freehold/sink/partition"
)

// Parse reads a template. Grouped says whether the partitioner makes groups; if it does not, {group} may be left out. The extension is that of the format
// with that of the compression, as ".jsonl.gz". The error says what the template lacks, or which two objects could have one key.
func Parse(text string, grouped bool, ext string) (*Template, error) {
	t := &Template{text: text, extension: ext}
	var err error
	if t.parts, err = split(text); err == nil {
		err = errors.Join(t.missing(grouped), t.unsafe())
	}
	if err == nil {
		err = t.ambiguous()
	}
	if err != nil {
		return nil, fmt.Errorf("the template of keys %q: %w", text, err)
	}
	return t, nil
}

// split divides a template into its parts.
func split(text string) (parts []part, err error) {
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		if strings.Contains(before, "}") {
			return nil, errors.New("a } without its {")
		}
		if before != "" {
			parts = append(parts, part{text: before})
		}
		if !found {
			break
		}
		name, behind, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, errors.New("a { without its }")
		}
		p, err := place(name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
		text = behind
	}
	return parts, nil
}

// place reads what stands between braces.
func place(text string) (p part, err error) {
	name, width, padded := strings.Cut(text, ":")
	var ok bool
	if p.kind, ok = places[name]; !ok {
		return p, fmt.Errorf("no place is called {%s}: there are {topic}, {partition}, {group}, {offset} and {extension}", name)
	}
	if !padded {
		return p, nil
	}
	if p.kind != partition && p.kind != offset {
		return p, fmt.Errorf("{%s}: partition and offset alone have a width", text)
	}
	p.width, err = strconv.Atoi(width)
	if err != nil || !strings.HasPrefix(width, "0") || p.width < 1 || p.width > 20 {
		return p, fmt.Errorf("{%s}: the width is a zero and a number up to 20, as {%s:020}", text, name)
	}
	return p, nil
}

// missing says what a key would not tell.
func (t *Template) missing(grouped bool) error {
	has := map[kind]bool{}
	for _, p := range t.parts {
		has[p.kind] = true
	}
	var errs []error
	for _, need := range []struct {
		kind kind
		text string
	}{
		{topic, "{topic} is missing: objects of two topics would have one key"},
		{partition, "{partition} is missing: objects of two partitions would have one key"},
		{offset, "{offset} is missing: all objects of a partition would have one key"},
		{group, "{group} is missing: objects of the partitioner's groups that begin with one record would have one key"},
	} {
		if !has[need.kind] && (need.kind != group || grouped) {
			errs = append(errs, errors.New(need.text))
		}
	}
	return errors.Join(errs...)
}

// maxKey is the number of bytes that a key may have in most stores.
const maxKey = 1024

// unsafe says whether keys are no paths, with or without a group.
func (t *Template) unsafe() error {
	if strings.ContainsFunc(t.text+t.extension, unicode.IsControl) || !utf8.ValidString(t.text+t.extension) {
		return errors.New("a control character, or no UTF-8")
	}
	for _, o := range []Object{{Topic: "t"}, {Topic: "t", Group: []byte("g")}} {
		key := string(t.Append(nil, o))
		if key == "" {
			return errors.New("the key is empty")
		}
		for name := range strings.SplitSeq(key, "/") {
			if name == "" || name == "." || name == ".." {
				return fmt.Errorf("the key would be %q, which has an empty name, or one that leads out of its folder", key)
			}
		}
	}
	return nil
}

// Check says in its error whether keys of a topic can become longer than stores take.
func (t *Template) Check(name string) error {
	long := Object{Topic: name, Partition: math.MaxInt32, Group: make([]byte, sink.MaxGroup), Offset: math.MaxInt64}
	if n := len(t.Append(nil, long)); n > maxKey {
		return fmt.Errorf("the template of keys %q: keys of the topic %s could have %d bytes; stores take %d", t.text, name, n, maxKey)
	}
	return nil
}

// ambiguous says whether two objects can have one key. A key can be read if one place takes what is left when all places before it are read from the
// beginning, and all behind it from the end. A place can be read if what stands on its far side cannot be part of it.
func (t *Template) ambiguous() error {
	var first error
	for free := range t.parts {
		if t.has(group) && t.parts[free].kind != group {
			continue // Only the place of the group can be the free one: a group may have any character.
		}
		err := t.readable(free)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (t *Template) has(k kind) bool {
	for _, p := range t.parts {
		if p.kind == k {
			return true
		}
	}
	return false
}

// readable says which place cannot be read if the part with the index free takes what is left.
func (t *Template) readable(free int) error {
	for i, p := range t.parts {
		edge, side := byte(0), "behind"
		switch {
		case i == free || p.kind == literal || p.kind == extension:
			continue
		case p.kind == group:
			return errors.New("{group} stands there twice")
		case i < free:
			edge = t.edge(i+1, false)
		default:
			edge, side = t.edge(i-1, true), "in front of"
		}
		if edge != 0 && !p.mayHave(edge) {
			continue
		}
		return fmt.Errorf("two objects could have one key: text must stand %s {%s} that cannot be part of it, as a slash", side, p.name())
	}
	return nil
}

// edge is the first or the last byte of the part with an index, or 0 if it has no fixed one.
func (t *Template) edge(i int, last bool) byte {
	if i < 0 || i >= len(t.parts) {
		return 0
	}
	text := t.parts[i].text
	if t.parts[i].kind == extension {
		text = t.extension
	}
	switch {
	case text == "":
		return 0
	case last:
		return text[len(text)-1]
	}
	return text[0]
}

// mayHave reports whether a topic or a number can have a byte.
func (p part) mayHave(c byte) bool {
	if '0' <= c && c <= '9' {
		return true
	}
	return p.kind == topic && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '_' || c == '-')
}

func (p part) name() string {
	for name, k := range places {
		if k == p.kind {
			return name
		}
	}
	return ""
}
