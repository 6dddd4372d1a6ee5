// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Cells take the values of a message by columns. Each leaf gets its values in order, with the repetition and definition levels of Parquet: an
// optional field that is there, an element of a list and an entry of a map each define one level more.
type Cells interface {
	// Number takes a value of the kinds Bool to Double and Timestamp: integers with their sign, floats as their bits.
	Number(leaf, rep, def int, bits uint64)
	// Bytes takes a value of the kinds Text, Bytes and JSON. The bytes are valid until the next call of Shred, and as long as those of the message.
	Bytes(leaf, rep, def int, b []byte)
	// Null takes the absence of a value.
	Null(leaf, rep, def int)
}

// A Shredder shreds messages into columns. It serves one goroutine at a time. It allocates nothing once its memory is large enough.
type Shredder struct {
	columns *Columns
	r       reader
	to      Cells
}

// NewShredder makes a Shredder that gives values to cells.
func (c *Columns) NewShredder(to Cells) *Shredder { return &Shredder{columns: c, to: to} }

// Held is the number of bytes that the Shredder holds.
func (s *Shredder) Held() int64 { return int64(s.r.held()) }

// Shred gives the values of a message to the cells. The error is that of AppendJSON; then the cells have a part of the values.
func (s *Shredder) Shred(value []byte) error {
	s.r.reset()
	if err := s.columns.t.check(value, deepest); err != nil {
		return err
	}
	return s.message(s.columns.t, s.columns.Top, value, 0, 0, deepest)
}

// Null gives null to all cells, for a record without a message.
func (s *Shredder) Null() {
	for i := range s.columns.Leaves {
		s.to.Null(i, 0, 0)
	}
}

func (s *Shredder) message(t *Type, columns []*Column, b []byte, rep, def, depth int) error {
	if depth--; depth < 0 {
		return errDepth
	}
	base, err := s.r.scan(t, b, false)
	if err != nil {
		return err
	}
	for _, c := range columns {
		if err := s.field(c, b, s.r.slots[base+c.at], rep, def, depth); err != nil {
			return err
		}
	}
	s.r.slots = s.r.slots[:base]
	return nil
}

// field gives the values of a field that stands in b.
func (s *Shredder) field(c *Column, b []byte, at slot, rep, def, depth int) error {
	f := c.f
	switch {
	case f.entry != nil && at.first != 0:
		return s.entries(c, b, at, rep, depth)
	case f.list && at.first != 0:
		first := true
		err := f.each(b, at, func(bits uint64, content []byte) error {
			level := c.rep
			if first {
				level, first = rep, false
			}
			return s.value(c, bits, content, level, depth)
		})
		if first {
			s.null(c, rep, def)
		}
		return err
	case at.first != 0 && f.message != nil:
		content, err := s.r.join(f, b, at) // It stays in joined: cells may lead to it.
		if err != nil {
			return err
		}
		return s.value(c, 0, content, rep, depth)
	case at.first != 0:
		bits, content, _, n := f.value(b[at.last-1:])
		if n < 0 {
			return errWire
		}
		return s.value(c, bits, content, rep, depth)
	case f.presence || f.list || f.entry != nil:
		s.null(c, rep, def)
		return nil
	}
	return s.value(c, 0, nil, rep, depth)
}

// null gives null to the leaves of a column.
func (s *Shredder) null(c *Column, rep, def int) {
	if c.Leaf >= 0 {
		s.to.Null(c.Leaf, rep, def)
		return
	}
	for _, child := range c.Children {
		s.null(child, rep, def)
	}
}

// entries gives the entries of a map.
func (s *Shredder) entries(c *Column, b []byte, at slot, rep, depth int) error {
	base, _, err := s.r.sorted(c.f, b, at)
	if err != nil {
		return err
	}
	for i := base; i < len(s.r.entries); i++ {
		e := s.r.entries[i]
		if err := s.value(c.Children[0], e.key, e.text, rep, depth-1); err != nil {
			return err
		}
		if err := s.value(c.Children[1], e.bits, e.content, rep, depth-1); err != nil {
			return err
		}
		rep = c.rep
	}
	s.r.drop(base, len(s.r.joined))
	return nil
}

// value gives one value, which is there.
func (s *Shredder) value(c *Column, bits uint64, content []byte, rep, depth int) error {
	f := c.f
	if c.of != nil {
		return s.message(c.of, c.Children, content, rep, c.def, depth)
	}
	if f.message != nil && f.message.known == isWrapper {
		var err error
		if bits, content, err = f.message.last(content, 1); err != nil {
			return err
		}
		f = &f.message.fields[0]
	}
	from := len(s.r.out)
	switch {
	case c.Kind == Timestamp:
		seconds, nanos, err := f.message.moment(content)
		if err != nil {
			return err
		}
		s.to.Number(c.Leaf, rep, c.def, uint64(seconds*1_000_000+nanos/1000))
	case c.Kind == JSON:
		if err := s.r.message(f.message, content, depth, false); err != nil {
			return err
		}
		s.to.Bytes(c.Leaf, rep, c.def, s.r.out[from:])
	case f.message != nil: // a duration or a mask: a string without escapes
		if err := s.r.message(f.message, content, depth, false); err != nil {
			return err
		}
		s.to.Bytes(c.Leaf, rep, c.def, s.r.out[from+1:len(s.r.out)-1])
	case f.kind == protoreflect.EnumKind:
		if name, ok := f.enum.names[int32(bits)]; ok {
			s.to.Bytes(c.Leaf, rep, c.def, name[1:len(name)-1])
			break
		}
		s.r.out = f.appendInteger(s.r.out, bits)
		s.to.Bytes(c.Leaf, rep, c.def, s.r.out[from:])
	case f.kind == protoreflect.StringKind && !f.utf8 && !utf8.Valid(content):
		return errText
	case c.Kind == Text || c.Kind == Bytes:
		s.to.Bytes(c.Leaf, rep, c.def, content)
	default:
		s.to.Number(c.Leaf, rep, c.def, bits)
	}
	return nil
}
