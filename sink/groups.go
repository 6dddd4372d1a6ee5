// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"time"

	"github.com/freehold-go/freehold/sink/record"
)

// groups are the boundaries of groups that end by themselves, with Rotation.Independent.
//
// The committed offset is that of the oldest record in an open object. Behind it are records of objects that are stored already. The
// offsets up to which the records of such groups are stored go into the commit's metadata, so that the broker changes both at once;
// whoever reads the partition next leaves those records out. One batch of objects at most is stored and not committed.
type groups struct{ *writer }

// before ends the objects that would hold the commit back for too long.
func (w groups) before(r *record.Record) error {
	behind := w.s.o.Rotation.Behind
	if w.epoch == nil {
		return nil
	}
	for o := w.epoch.oldest(); o != nil; o = w.epoch.oldest() {
		if r.Offset-o.from < behind {
			return nil
		}
		if err := w.endGroup(o, r.Offset); err != nil {
			return err
		}
	}
	if len(w.ready) == 0 && r.Offset-max(w.begun, w.epoch.from) >= behind { // Nothing but records that are left out.
		return w.finish()
	}
	return nil
}

func (w groups) object(group []byte, r *record.Record) (*object, error) {
	if o := w.epoch.objects[objectID{group: string(group)}]; o != nil && w.s.o.Rotation.before(&o.extent, r) {
		if err := w.endGroup(o, r.Offset); err != nil {
			return nil, err
		}
	}
	return w.epoch.object(group, r)
}

func (w groups) took(o *object, r *record.Record) error {
	rotation := &w.s.o.Rotation
	if o.extent.records == 0 {
		o.before = w.last
	}
	o.extent.add(r, w.s.o.now)
	w.epoch.bytes += int64(r.Size())
	if rotation.after(&o.extent) {
		return w.endGroup(o, r.Offset+1)
	}
	if o.extent.records == 1 {
		w.remind(rotation.deadline(&o.extent))
	}
	return nil
}

func (w groups) after(*record.Record) error { return w.ended() }

func (w groups) due() error {
	w.writer.due = time.Time{}
	now, e := w.s.o.now(), w.epoch
	if e == nil {
		return nil
	}
	for _, o := range e.all() {
		at := w.s.o.Rotation.deadline(&o.extent)
		if at.IsZero() || o.ended {
			continue
		}
		if at.After(now) {
			w.remind(at)
			continue
		}
		if err := w.endGroup(o, e.next.Next); err != nil {
			return err
		}
	}
	return w.ended()
}

// ended does what is to be done after objects have ended.
func (w groups) ended() error {
	if len(w.ready) > 0 && w.finishing == nil && len(w.position().Metadata) > mostMetadata {
		return w.endEarly("the metadata of a commit cannot hold more groups that are ahead of it, so all objects end before their boundary; raise the rotation, or lower rotate.behind")
	}
	w.storeReady()
	return nil
}

// endGroup ends an object, whose group's records before next it and earlier objects have. The rejected records end with it: when a group's records are left out
// at the next reading, those of them that were rejected are, too.
func (w groups) endGroup(o *object, next int64) error {
	if err := w.endOne(o, next); err != nil {
		return err
	}
	if r := w.epoch.rejects; r != nil {
		if err := w.endOne(r, next); err != nil {
			return err
		}
	}
	return nil
}

func (w groups) endOne(o *object, next int64) error {
	e := w.epoch
	if err := o.end(); err != nil {
		return err
	}
	o.ended = true
	o.about.EpochNext = next
	e.bytes -= o.extent.bytes
	e.spilled -= o.spilled
	tag := groupTag + o.about.Group
	if o == e.rejects {
		e.rejects, tag = nil, rejectsTag
	} else {
		delete(e.objects, o.id)
	}
	w.stored[tag] = next
	if len(w.ready) == 0 {
		w.s.work.more() // until they are being stored
	}
	w.ready = append(w.ready, o)
	return nil
}
