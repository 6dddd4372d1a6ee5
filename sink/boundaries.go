// SPDX-License-Identifier: Apache-2.0

package sink

import "github.com/freehold-go/freehold/sink/record"

// boundaries say where objects end: together, with their epoch, or each by itself. The writer calls them for each record in the order
// in which they stand here.
type boundaries interface {
	// before ends what ends before a record, be it written or not.
	before(r *record.Record) error
	// object is the open object for a record of a group. If that one ends before the record, it is a new one.
	object(group []byte, r *record.Record) (*object, error)
	// took counts a record that an object has taken.
	took(o *object, r *record.Record) error
	// after ends what ends after a record, be it written or not.
	after(r *record.Record) error
	// due ends what the clock ends.
	due() error
}

// epochs are the boundaries of objects that end with their epoch.
type epochs struct{ *writer }

func (w epochs) before(r *record.Record) error {
	if w.epoch == nil || !w.s.o.Rotation.before(&w.epoch.extent, r) {
		return nil
	}
	return w.finish()
}

func (w epochs) object(group []byte, r *record.Record) (*object, error) {
	return w.epoch.object(group, r)
}

func (w epochs) took(*object, *record.Record) error { return nil }

func (w epochs) after(r *record.Record) error {
	rotation, e := &w.s.o.Rotation, &w.epoch.extent
	e.add(r, w.s.o.now)
	if e.records == 1 {
		w.remind(rotation.deadline(e))
	}
	if rotation.after(e) {
		return w.finish()
	}
	return nil
}

func (w epochs) due() error { return w.finish() }
