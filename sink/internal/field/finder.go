// SPDX-License-Identifier: Apache-2.0

package field

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/record"
)

var alias = arenajson.Options{AliasInput: true}

// A Finder finds the fields of some paths. It may be used by several goroutines at once.
type Finder struct {
	paths   []Path
	names   [][]string // The paths as arenajson.Pick takes them,
	steps   [][]any    // and as Value.Get does.
	checked bool
	rooted  bool // whether Root is asked for

	mu   sync.Mutex
	free []*Found // A list instead of a sync.Pool, so that no arena is forgotten.
}

// NewFinder is a finder for paths. If checked is set, it reads the whole value, and a value that is no JSON is an error; of fields with
// equal names the last one counts, as in encoding/json. Otherwise it reads no further than to each field, and the first one counts.
func NewFinder(checked bool, paths ...Path) *Finder {
	f := &Finder{paths: paths, checked: checked}
	for _, p := range paths {
		steps := make([]any, len(p))
		for i, name := range p {
			steps[i] = name
		}
		f.names, f.steps = append(f.names, p), append(f.steps, steps)
	}
	return f
}

// NewRootFinder is a finder that checks, and whose results have the Root.
func NewRootFinder(paths ...Path) *Finder {
	f := NewFinder(true, paths...)
	f.rooted = true
	return f
}

// Found has the fields of a value.
type Found struct {
	finder *Finder
	arena  *arena.Arena
	root   arenajson.Value
	values []arenajson.Value
	text   []byte // JSON that was made of a value; the values lead into it
	parts  []part // of the text, by path
	large  bool
}

// A part is the JSON of a field, with the number of names of the path that lead on within.
type part struct{ from, to, rest int }

// errNoJSON has no part of the value, which may be secret.
var errNoJSON = &record.Bad{Err: errors.New("the value is no JSON")}

// Find finds the fields of a record's value, behind its framing. A record without a value has none. The caller calls Release when it has used the fields.
// The error is a *record.Bad. If the whole value was checked, Find marks the record.
func (f *Finder) Find(r *record.Record) (*Found, error) {
	found := f.take()
	if r.Value == nil {
		clear(found.values)
		return found, nil
	}
	found.large = len(r.Value) > keptValue
	read := (*Found).near
	switch {
	case f.checked && r.Schema != nil:
		read = (*Found).converted
	case f.checked:
		read = (*Found).whole
	case r.Schema != nil:
		read = (*Found).described
	}
	if err := read(found, r); err != nil {
		found.Release()
		return nil, err
	}
	return found, nil
}

func (f *Finder) take() *Found {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.free); n > 0 {
		found := f.free[n-1]
		f.free = f.free[:n-1]
		return found
	}
	return &Found{finder: f, arena: arena.NewArena(), values: make([]arenajson.Value, len(f.paths)), parts: make([]part, len(f.paths))}
}

// whole reads all of the value.
func (f *Found) whole(r *record.Record) error {
	if err := f.parse(r.Payload()); err != nil {
		return err
	}
	r.CheckedJSON = true
	return nil
}

// converted reads all of a value that a schema makes JSON of.
func (f *Found) converted(r *record.Record) (err error) {
	if f.text, err = r.Schema.AppendJSON(f.text[:0], r.Payload()); err != nil {
		return err
	}
	return f.parse(f.text)
}

// described reads the fields of a value that has a schema, and nothing else of it.
func (f *Found) described(r *record.Record) error {
	f.text = f.text[:0]
	var err error
	for i, path := range f.finder.paths {
		p := &f.parts[i]
		p.from = len(f.text)
		if f.text, p.rest, err = r.Schema.AppendField(f.text, r.Payload(), path); err != nil {
			return err
		}
		p.to = len(f.text)
	}
	// Values lead into the text, which must not move any more.
	for i, p := range f.parts {
		f.values[i] = arenajson.Value{}
		if p.from == p.to {
			continue
		}
		v, err := arenajson.Parse(f.arena, f.text[p.from:p.to], alias)
		if err != nil {
			return bad(err)
		}
		steps := f.finder.steps[i]
		f.values[i] = v.Get(steps[len(steps)-p.rest:]...)
	}
	return nil
}

// parse reads JSON from the first byte to the last.
func (f *Found) parse(text []byte) error {
	if !f.finder.rooted {
		if err := arenajson.Pick(f.arena, text, f.values, f.finder.names, alias); err != nil {
			return bad(err)
		}
		return nil
	}
	root, err := arenajson.Parse(f.arena, text, alias)
	if err != nil {
		return bad(err)
	}
	for i, steps := range f.finder.steps {
		f.values[i] = root.Get(steps...)
	}
	f.root = root
	return nil
}

// bad is the error of a value that arenajson refuses.
func bad(err error) error {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return record.Badf("the value is no JSON from byte %d on", syntax.Offset)
	}
	return err
}

// near reads as far as to the fields, each from the beginning: they mostly stand near it.
func (f *Found) near(r *record.Record) error {
	value := r.Payload()
	for i, path := range f.finder.paths {
		f.values[i] = arenajson.Value{}
		text, ok := locate(f.arena, value, path)
		if !ok {
			return errNoJSON
		}
		if text == nil {
			continue
		}
		v, err := arenajson.Parse(f.arena, text, alias)
		if err != nil {
			return bad(err)
		}
		f.values[i] = v
	}
	return nil
}

// Value is the field of the path with this index, or no value. It is valid until Release.
func (f *Found) Value(i int) arenajson.Value { return f.values[i] }

// Root is the whole value, of a NewRootFinder. It is valid until Release.
func (f *Found) Root() arenajson.Value { return f.root }

// keptValue bounds the values whose memory is kept for the next: most values are alike.
const keptValue = 1 << 20

// Release ends the use of the fields.
func (f *Found) Release() {
	if f.large {
		f.arena.Reset(arena.GiveBack)
	} else {
		f.arena.Reset(arena.Keep)
	}
	if cap(f.text) > keptValue {
		f.text = nil
	}
	f.large, f.root = false, arenajson.Value{}
	f.finder.mu.Lock()
	f.finder.free = append(f.finder.free, f)
	f.finder.mu.Unlock()
}
