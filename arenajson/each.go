// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"io"
	"iter"

	"github.com/freehold-go/freehold/arena"
)

// Each decodes the values of a stream, one after the other: JSON lines (NDJSON), or values with any white space or none
// between them. Only one value is alive at a time: it lies in a until the loop's next turn or its end, when a is rewound, by
// break and return, too. So the memory that a stream needs does not grow with its length. What the loop's body allocates in a
// ends with the turn, too. The body must not reset, rewind or free a. With a nil a the values lie on the Go heap and stay valid.
//
// A value that has a line to itself is read once. Other values are read twice: to find their end, and to decode them. So are all values
// of a type whose decoding calls methods of the program.
//
// Errors are those of [Unmarshal]; their offsets count from the beginning of the stream. A value that does not
// fit T comes with its *json.UnmarshalTypeError, and the loop goes on. All other errors end it: those of the reader
// too, and io.ErrUnexpectedEOF if the stream ends within a value. [Options.AliasInput] has no meaning here.
func Each[T any](a *arena.Arena, r io.Reader, o ...Options) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		mark := a.Checkpoint() // One for all turns: an arena remembers each checkpoint until the next Reset.
		s, o := &stream{r: r}, copied(o)
		for {
			if _, ok := s.peek(); !ok {
				if s.err != io.EOF {
					yield(nil, s.err)
				}
				break
			}
			if !turn(a, mark, s, o, yield) {
				break
			}
		}
		s.release()
	}
}

// EachElement is [Each] for the elements of one array, which may be larger than memory. Behind the array there must be
// nothing but white space.
func EachElement[T any](a *arena.Arena, r io.Reader, o ...Options) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		mark := a.Checkpoint() // One for all turns: an arena remembers each checkpoint until the next Reset.
		s := &stream{r: r}
		elements(a, mark, s, copied(o), yield)
		s.release()
	}
}

// elements is EachElement from a checkpoint on.
func elements[T any](a *arena.Arena, mark arena.Checkpoint, s *stream, o []Options, yield func(*T, error) bool) {
	if !s.expect('[') {
		if err := notArray[T](s); err != nil {
			yield(nil, err)
		}
		return
	}
	if c, ok := s.peek(); ok && c == ']' {
		s.at++
	} else {
		for {
			if !ok {
				yield(nil, s.unexpected("["))
				return
			}
			if !turn(a, mark, s, o, yield) {
				return
			}
			if s.expect(']') {
				break
			}
			if !s.expect(',') {
				yield(nil, s.unexpected("[0"))
				return
			}
			if c, ok = s.peek(); c == ']' {
				yield(nil, s.unexpected("[0,"))
				return
			}
		}
	}
	if _, more := s.peek(); more || s.err != io.EOF {
		yield(nil, s.unexpected("[]"))
	}
}

// notArray is the error for a stream that begins with no array. There is none for null, which is an empty slice.
func notArray[T any](s *stream) error {
	if _, ok := s.peek(); !ok {
		return s.unexpected("")
	}
	text, err := s.value()
	if err == nil {
		err = json.Unmarshal(text, new([]T))
	}
	if _, ok := err.(*json.UnmarshalTypeError); err != nil && !ok {
		return s.failed(text, nil)
	}
	return moved(err, s.position()-int64(len(text)))
}

// turn decodes the next value of a stream, hands it to a loop's body, and rewinds a. It reports whether the loop goes on.
func turn[T any](a *arena.Arena, mark arena.Checkpoint, s *stream, o []Options, yield func(*T, error) bool) bool {
	from := s.position()
	v, err, c, ok := turnOfLine[T](a, mark, s, o)
	if !ok {
		var text []byte
		if text, err = s.value(); err != nil {
			yield(nil, s.failed(text, o))
			return false
		}
		if v, err, c = unmarshal[T](a, text, o); c == ofGrammar {
			err = s.failed(text, o)
		}
	}
	if c == ofValue {
		err = moved(err, from)
	}
	goes := yield(v, err) && (c == none || c == ofValue)
	a.Rewind(mark)
	return goes
}

// turnOfLine decodes the next value, if it is all that is left of its line.
func turnOfLine[T any](a *arena.Arena, mark arena.Checkpoint, s *stream, o []Options) (v *T, err error, c cause, ok bool) {
	line := s.line()
	if len(line) == 0 || len(o) > 1 {
		return nil, nil, none, false
	}
	if v, err, c, ok = unmarshalLine[T](s.decoder(), a, line, o); ok {
		s.took(line)
		return v, err, c, true
	}
	s.missed()
	a.Rewind(mark)
	return nil, nil, none, false
}

// copied is o without AliasInput: the stream's buffer is used again.
func copied(o []Options) []Options {
	if len(o) == 1 && o[0].AliasInput {
		one := o[0]
		one.AliasInput = false
		return []Options{one}
	}
	return o
}

// expect reads c, if it is next.
func (s *stream) expect(c byte) bool {
	if next, ok := s.peek(); !ok || next != c {
		return false
	}
	s.at++
	return true
}

// unexpected is the error for what follows, in a document of which before stands for all that is read.
func (s *stream) unexpected(before string) error {
	c, ok := s.peek()
	if !ok {
		if s.err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		return s.err
	}
	var v json.RawMessage
	err := json.Unmarshal(append([]byte(before), c), &v)
	if e, ok := err.(*json.SyntaxError); ok {
		e.Offset = s.position() + 1
	}
	return err
}
