// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The types of decode/struct are made from the document. They are the types that a programmer would
// write for it.

const (
	// mostFields is the number of names from which on an object becomes a map.
	mostFields = 64
	// deepest is the deepest level of nested structs; values below it are interfaces.
	deepest = 64
)

// A shape describes all values at one place of the document.
type shape struct {
	strings, bools, arrays, objects bool
	integers, fractions             bool
	items                           *shape            // of all arrays here
	members                         map[string]*shape // of all objects here
	names                           []string          // of members, in the order in which they were met
}

// documentType makes a type that a document can be decoded into.
func documentType(data []byte) (reflect.Type, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var s shape
	if err := s.read(decoder); err != nil {
		return nil, fmt.Errorf("make a type for the document: %w", err)
	}
	return s.goType(0), nil
}

// newOf returns a pointer to a new value of the type.
func newOf(t reflect.Type) any { return reflect.New(t).Interface() }

// read adds the next value of the document.
func (s *shape) read(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case string:
		s.strings = true
	case bool:
		s.bools = true
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			s.integers = true
		} else {
			s.fractions = true
		}
	case json.Delim:
		if v == '[' {
			return s.readArray(decoder)
		}
		return s.readObject(decoder)
	}
	return nil
}

func (s *shape) readArray(decoder *json.Decoder) error {
	s.arrays = true
	if s.items == nil {
		s.items = new(shape)
	}
	for decoder.More() {
		if err := s.items.read(decoder); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}

func (s *shape) readObject(decoder *json.Decoder) error {
	s.objects = true
	if s.members == nil {
		s.members = map[string]*shape{}
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if s.members[name] == nil {
			s.members[name] = new(shape)
			s.names = append(s.names, name)
		}
		if err := s.members[name].read(decoder); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}

// add merges another place into this one.
func (s *shape) add(o *shape) {
	s.strings, s.bools = s.strings || o.strings, s.bools || o.bools
	s.arrays, s.objects = s.arrays || o.arrays, s.objects || o.objects
	s.integers, s.fractions = s.integers || o.integers, s.fractions || o.fractions
	if o.items != nil {
		if s.items == nil {
			s.items = new(shape)
		}
		s.items.add(o.items)
	}
	for _, name := range o.names {
		if s.members == nil {
			s.members = map[string]*shape{}
		}
		if s.members[name] == nil {
			s.members[name] = new(shape)
			s.names = append(s.names, name)
		}
		s.members[name].add(o.members[name])
	}
}

var (
	anyType    = reflect.TypeFor[any]()
	stringType = reflect.TypeFor[string]()
)

// goType is the narrowest type that holds all values seen.
func (s *shape) goType(depth int) reflect.Type {
	kinds := 0
	for _, seen := range []bool{s.strings, s.bools, s.arrays, s.objects, s.integers || s.fractions} {
		if seen {
			kinds++
		}
	}
	switch {
	case kinds != 1 || depth >= deepest:
		return anyType
	case s.strings:
		return stringType
	case s.bools:
		return reflect.TypeFor[bool]()
	case s.fractions:
		return reflect.TypeFor[float64]()
	case s.integers:
		return reflect.TypeFor[int64]()
	case s.arrays:
		return reflect.SliceOf(s.items.goType(depth + 1))
	}
	return s.objectType(depth)
}

// objectType is a struct, or a map if the names are data or cannot be the tags of fields.
func (s *shape) objectType(depth int) reflect.Type {
	if len(s.names) == 0 || len(s.names) > mostFields || !tagNames(s.names) {
		var all shape
		for _, name := range s.names {
			all.add(s.members[name])
		}
		return reflect.MapOf(stringType, all.goType(depth+1))
	}
	fields := make([]reflect.StructField, len(s.names))
	for i, name := range s.names {
		fields[i] = reflect.StructField{
			Name: "F" + strconv.Itoa(i),
			Type: s.members[name].goType(depth + 1),
			Tag:  reflect.StructTag("json:" + strconv.Quote(name)),
		}
	}
	return reflect.StructOf(fields)
}

// tagNames says whether all names can be tags: they must consist of characters that every library
// accepts, and differ in more than case, because some libraries ignore it.
func tagNames(names []string) bool {
	folded := map[string]bool{}
	for _, name := range names {
		if name == "" || name == "-" || folded[strings.ToLower(name)] {
			return false
		}
		folded[strings.ToLower(name)] = true
		if strings.ContainsFunc(name, func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !slices.Contains([]rune("_-. /:@$#"), c)
		}) {
			return false
		}
	}
	return true
}
