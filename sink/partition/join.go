// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/internal/field"
	"github.com/freehold-go/freehold/sink/record"
)

// A part divides records by a field of their values. Join asks all parts for their paths, so that all fields of a value are found at once.
type part interface {
	path() field.Path
	// group is Group with the field of the path.
	group(dst []byte, r *record.Record, v arenajson.Value) ([]byte, error)
}

// Join makes a partitioner whose paths are those of the parts, one behind the other, with slashes between. An empty path adds no
// slash. A record that is bad for one part is bad. A group of more than MaxGroup bytes makes the record bad, too.
func Join(parts ...Partitioner) Partitioner { return join(false, parts) }

// Checked makes a partitioner with the paths of p that takes a record only if its value is JSON, from the first byte to the last. Records without
// a value are left to p. Fields are found in the same pass. It sets CheckedJSON in the record.
func Checked(p Partitioner) Partitioner { return join(true, []Partitioner{p}) }

func join(checked bool, parts []Partitioner) Partitioner {
	j := &joined{checked: checked}
	for _, p := range parts {
		switch p := p.(type) {
		case none:
		case *joined:
			j.checked = j.checked || p.checked
			j.entries = append(j.entries, p.entries...)
		default:
			j.entries = append(j.entries, entry{other: p})
		}
	}
	if len(j.entries) == 0 && !j.checked {
		return None()
	}
	return j.ready()
}

// single makes a partitioner of a part.
func single(p part) Partitioner { return (&joined{entries: []entry{{part: p}}}).ready() }

// ready makes the finder for the fields that the entries need.
func (j *joined) ready() *joined {
	var paths []field.Path
	for i := range j.entries {
		if e := &j.entries[i]; e.part != nil {
			e.index = len(paths)
			paths = append(paths, e.part.path())
		}
	}
	if len(paths) > 0 || j.checked {
		j.finder = field.NewFinder(j.checked, paths...)
	}
	return j
}

type joined struct {
	entries []entry
	checked bool
	finder  *field.Finder // Nil if no entry needs the value.
}

// An entry is a part or another partitioner.
type entry struct {
	part  part
	index int // Of the part's path among those of the finder.
	other Partitioner
}

// Group implements Partitioner.
func (j *joined) Group(dst []byte, r *record.Record) ([]byte, error) {
	if j.finder == nil {
		return j.group(dst, r, nil)
	}
	found, err := j.finder.Find(r)
	if err != nil {
		return dst, err
	}
	dst, err = j.group(dst, r, found)
	found.Release()
	return dst, err
}

func (j *joined) group(dst []byte, r *record.Record, found *field.Found) ([]byte, error) {
	from := len(dst)
	for i := range j.entries {
		e, before, err := &j.entries[i], len(dst), error(nil)
		if before > from {
			dst = append(dst, '/')
		}
		start := len(dst)
		if e.part != nil {
			dst, err = e.part.group(dst, r, found.Value(e.index))
		} else {
			dst, err = e.other.Group(dst, r)
		}
		if err != nil {
			return dst[:from], err
		}
		if len(dst) == start {
			dst = dst[:before]
		}
	}
	if n := len(dst) - from; n > MaxGroup {
		return dst[:from], record.Badf("a group of %d bytes; at most %d are allowed", n, MaxGroup)
	}
	return dst, nil
}
