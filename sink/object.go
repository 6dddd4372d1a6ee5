// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"fmt"

	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/store"
)

// object is an open object: the records of one group in one epoch. One goroutine at a time uses it.
type object struct {
	shared     *shared
	compressed bool   // whether the content is compressed here
	open       *int64 // the bytes of the epoch that no member has yet, those of raw among them

	id    objectID // among the objects of the epoch
	key   string
	from  int64 // offset of the first record
	about store.About

	// If groups end by themselves:
	extent  extent
	before  int32 // leader's epoch of the record before the first
	ended   bool
	spilled int64 // bytes of input whose content was spilled

	enc encode.Encoder // nil once the object is freed

	raw     []byte // what the encoder wrote and no member has yet; from the budget
	large   bool   // whether the last member was full, and so the next one will probably be
	members []*member
	content *block.Chain // what is complete
	held    int64        // the encoder's own memory, as it was counted last
}

// objectID tells the open objects of an epoch apart. Their first offsets differ, and so do their keys.
type objectID struct {
	group  string
	schema record.Schema // if the objects of the format have one schema each
}

// smallestRaw is the size at which raw begins in the first member of an object, because most of many objects stay small.
const smallestRaw = 1 << 10

// append writes a record. A *record.Bad leaves the object as it was.
func (o *object) append(r *record.Record) error {
	if err := o.enc.Append(r); err != nil {
		return err
	}
	if o.about.Records == 0 {
		o.about.FirstOffset = r.Offset
	}
	o.about.Records++
	o.about.LastOffset = r.Offset
	o.about.InputBytes += int64(r.Size())
	o.count()
	return nil
}

// count counts what the encoder holds.
func (o *object) count() {
	if held := o.enc.Held(); held != o.held {
		o.shared.o.Budget.Count(held - o.held)
		o.held = held
	}
}

// Write takes what the encoder writes. Members end after memberBytes of it, whatever the sizes of the writes.
func (o *object) Write(p []byte) (int, error) {
	if !o.compressed {
		return o.content.Write(p)
	}
	written := 0
	for len(p) > 0 {
		if len(o.raw) == cap(o.raw) {
			if err := o.grow(len(p)); err != nil {
				return written, err
			}
		}
		n := copy(o.raw[len(o.raw):cap(o.raw)], p)
		o.raw = o.raw[:len(o.raw)+n]
		*o.open += int64(n)
		p = p[n:]
		written += n
		if o.large = len(o.raw) == o.shared.o.MemberBytes; o.large {
			o.cut()
		}
	}
	return written, nil
}

// grow makes raw larger, for n more bytes at best.
func (o *object) grow(n int) error {
	size := min(smallestRaw, o.shared.o.MemberBytes)
	if o.large {
		size = o.shared.o.MemberBytes
	}
	for size < o.shared.o.MemberBytes && size < max(2*len(o.raw), len(o.raw)+n) {
		size *= 2
	}
	raw, err := o.shared.o.Budget.Alloc(min(size, o.shared.o.MemberBytes))
	if err != nil {
		return fmt.Errorf("memory for the object %s: %w", o.key, err)
	}
	copied := copy(raw, o.raw)
	o.shared.o.Budget.Free(o.raw)
	o.raw = raw[:copied]
	return nil
}

// cut has the bytes that are there compressed as a member.
func (o *object) cut() {
	if len(o.raw) == 0 {
		return
	}
	*o.open -= int64(len(o.raw))
	o.members = append(o.members, o.shared.compressors.start(o.raw))
	o.raw = nil
	o.collect(false)
}

// collect moves members that are compressed to the content, all of them if it is to wait. The first error stays where it is.
func (o *object) collect(wait bool) error {
	for len(o.members) > 0 {
		m := o.members[0]
		if !wait {
			select {
			case <-m.done:
			default:
				return nil
			}
		}
		<-m.done
		if m.err == nil {
			m.err = o.content.Append(m.out)
		}
		if m.err != nil {
			return fmt.Errorf("compressing the object %s: %w", o.key, m.err)
		}
		o.members = o.members[1:]
	}
	o.members = nil
	return nil
}

// end completes the content, without waiting for compressors.
func (o *object) end() error {
	if err := o.enc.End(); err != nil {
		return fmt.Errorf("ending the object %s: %w", o.key, err)
	}
	o.count()
	o.cut()
	return nil
}

// free gives up the memory, whatever state the object is in. It waits for compressors that work on it. A second call does nothing.
func (o *object) free() {
	if o.enc == nil {
		return
	}
	for _, m := range o.members {
		<-m.done
		m.out.Free()
	}
	o.members = nil
	o.content.Free()
	o.shared.o.Budget.Free(o.raw)
	o.raw = nil
	o.enc.Free()
	o.enc = nil
	o.shared.o.Budget.Count(-o.held)
	o.held = 0
	o.shared.stats.openObjects.Add(-1)
}
