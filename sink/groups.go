// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// Groups that end by themselves, with Rotation.Independent.
//
// The committed offset is that of the oldest record in an open object. Behind it are records of objects that are stored already. The offsets up to
// which the records of such groups are stored go into the commit's metadata, so that the broker changes both at once; whoever reads the partition next leaves those
// records out. One batch of objects at most is stored and not committed.

// defaultBehind is Rotation.Behind, if that is 0.
const defaultBehind = 1_000_000

// mostMetadata is how long the metadata of a commit may be. Brokers take 4,096 bytes by default (offset.metadata.max.bytes).
const mostMetadata = 4000

// rejectsTag is the name of the rejected records among stored, where groups have the prefix groupTag.
const (
	rejectsTag = "r"
	groupTag   = "g"
)

// oldest is the open object that begins first, or nil.
func (e *epoch) oldest() *object {
	for len(e.order) > 0 && (e.order[0].ended || e.order[0].enc == nil) {
		e.order = e.order[1:]
	}
	if len(e.order) == 0 {
		return nil
	}
	return e.order[0]
}

// isStored reports whether a record of a group is in an object that is stored.
func (w *writer) isStored(tag string, group []byte, r *record.Record) bool {
	if len(w.stored) == 0 {
		return false
	}
	return r.Offset < w.stored[tag+string(group)]
}

// counted counts a record that an object has taken, and ends the object at its boundary.
func (w *writer) counted(o *object, r *record.Record) error {
	rotation := &w.s.o.Rotation
	if !rotation.Independent {
		return nil
	}
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

// remind has the writer look for objects that are due, at a time.
func (w *writer) remind(at time.Time) {
	if at.IsZero() || !w.due.IsZero() && !at.Before(w.due) {
		return
	}
	w.due = at
	w.deadline.Reset(at.Sub(w.s.o.now()))
}

// endDue ends what the clock ends.
func (w *writer) endDue() error {
	if !w.s.o.Rotation.Independent {
		return w.finish()
	}
	w.due = time.Time{}
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
	return w.groupsEnded()
}

// endOld ends the objects that would hold the commit back for too long, now that a record has come.
func (w *writer) endOld(r *record.Record) error {
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

// endGroup ends an object, whose group's records before next it and earlier objects have. The rejected records end with it: when a group's records are left out
// at the next reading, those of them that were rejected are, too.
func (w *writer) endGroup(o *object, next int64) error {
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

// groupsEnded does what is to be done after objects have ended.
func (w *writer) groupsEnded() error {
	if len(w.ready) > 0 && w.finishing == nil && len(w.position().Metadata) > mostMetadata {
		return w.endEarly("the metadata of a commit cannot hold more groups that are ahead of it, so all objects end before their boundary; raise the rotation, or lower rotate.behind")
	}
	w.storeReady()
	return nil
}

func (w *writer) endOne(o *object, next int64) error {
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
	if w.stored == nil {
		w.stored = map[string]int64{}
	}
	w.stored[tag] = next
	if len(w.ready) == 0 {
		w.s.work.more() // until they are being stored
	}
	w.ready = append(w.ready, o)
	return nil
}

// storeReady has the objects that have ended stored, unless others are being stored.
func (w *writer) storeReady() {
	if w.finishing != nil || len(w.ready) == 0 {
		return
	}
	ready, begun := w.takeReady()
	w.begin(&epoch{shared: w.s, p: w.p, list: ready, next: w.position(), done: make(chan struct{})})
	begun()
}

// takeReady takes the objects that have ended. Begun is called when their memory will become free by itself, or is.
func (w *writer) takeReady() (ready []*object, begun func()) {
	if len(w.ready) == 0 {
		return nil, func() {}
	}
	ready, w.ready = w.ready, nil
	return ready, w.s.work.less
}

// position is what can be committed when all objects that have ended are stored.
func (w *writer) position() source.Position {
	at := w.epoch.next
	if o := w.epoch.oldest(); o != nil {
		at = source.Position{Next: o.from, Epoch: o.before}
	}
	maps.DeleteFunc(w.stored, func(_ string, next int64) bool { return next <= at.Next })
	at.Metadata = encodeStored(w.stored, at.Next)
	return at
}

// metadataPrefix begins the metadata of commits. What begins otherwise is another program's.
const metadataPrefix = "freehold-sink/1 "

// encodeStored writes the groups whose records are stored beyond the committed offset: the names in order, each as the number of bytes that it shares with
// the name before, the number of those that follow, these, and the distance from the offset. Numbers are varints. All of it is deflated, and base64 without
// padding.
func encodeStored(stored map[string]int64, committed int64) string {
	var b []byte
	before := ""
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		next := stored[name]
		if next <= committed {
			continue
		}
		shared := 0
		for shared < len(name) && shared < len(before) && name[shared] == before[shared] {
			shared++
		}
		b = binary.AppendUvarint(b, uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(name)-shared))
		b = append(b, name[shared:]...)
		b = binary.AppendUvarint(b, uint64(next-committed))
		before = name
	}
	if len(b) == 0 {
		return ""
	}
	var small bytes.Buffer
	z, _ := flate.NewWriter(&small, flate.BestCompression) // The level is valid.
	z.Write(b)                                             // A buffer takes all.
	z.Close()
	return metadataPrefix + base64.RawStdEncoding.EncodeToString(small.Bytes())
}

var errMetadata = errors.New("the metadata of the committed offset is damaged, so it is not known which records are stored already; " +
	"commit the offset again without metadata to write them again")

// decodeStored is the inverse of encodeStored. The result is nil if the metadata is another program's.
func decodeStored(metadata string, committed int64) (map[string]int64, error) {
	text, ours := strings.CutPrefix(metadata, metadataPrefix)
	if !ours {
		return nil, nil
	}
	// Damaged text may deflate to anything: of what the sink has written it is some 20 times as long at most.
	b, err := io.ReadAll(io.LimitReader(flate.NewReader(base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(text))), 1<<20))
	if err != nil || len(b) == 1<<20 {
		return nil, errMetadata
	}
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			err, b = errMetadata, nil
			return 0
		}
		b = b[size:]
		return n
	}
	stored := map[string]int64{}
	for before := ""; len(b) > 0; {
		shared, more := number(), number()
		if shared > uint64(len(before)) || more > uint64(len(b)) {
			return nil, errMetadata
		}
		name := before[:shared] + string(b[:more])
		b = b[more:]
		stored[name] = committed + int64(number())
		before = name
	}
	return stored, err
}

// resume notes what was committed before the first record comes.
func (w *writer) resume(at source.Position) (err error) {
	if w.stored, err = decodeStored(at.Metadata, at.Next); err != nil {
		return fmt.Errorf("offset %d: %w", at.Next, err)
	}
	w.begun, w.last = at.Next, at.Epoch
	return nil
}
