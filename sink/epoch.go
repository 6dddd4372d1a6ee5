// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/partition/objectkey"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
	"github.com/freehold-go/freehold/sink/store"
)

// epoch is the records of a partition between two commits, and the objects that they go to.
type epoch struct {
	extent
	shared  *shared
	p       source.Partition
	from    int64 // the offset of the first record
	next    source.Position
	objects map[objectID]*object // open objects
	rejects *object              // the object of the records that cannot be written, if they go to one
	order   []*object            // open objects in the order of their first records, and ended ones among them, if groups end by themselves
	list    []*object            // objects that have ended by themselves
	raw     int64                // bytes in open objects that no member has yet
	spill   *block.Spill         // where the content of open objects went, or nil
	spilled int64                // bytes of input in open objects whose content was spilled

	done chan struct{} // closed when the epoch is committed, or given up
	err  error         // why it was given up; valid after done
}

// object returns the open object of a group. First is the record that it begins with, if it is a new one.
func (e *epoch) object(group []byte, first *record.Record) (*object, error) {
	s, schema := e.shared, record.Schema(nil)
	if s.bySchema {
		schema = first.Schema
	}
	if o := e.objects[objectID{string(group), schema}]; o != nil {
		return o, nil
	}
	name := string(group)
	key := s.o.Key.Append(nil, objectkey.Object{Topic: first.Topic, Partition: first.Partition, Group: group, Offset: first.Offset})
	o, err := e.open(string(key), name, s.o.Format, first.Offset)
	if err != nil {
		return nil, err
	}
	o.id = objectID{name, schema}
	e.objects[o.id] = o
	return o, nil
}

// open makes an object that begins with the record at an offset.
func (e *epoch) open(key, group string, f encode.Format, from int64) (*object, error) {
	s := e.shared
	o := &object{shared: s, open: &e.raw, key: key, from: from, content: block.NewChain(s.o.Budget)}
	o.about = store.About{ContentType: f.ContentType(), Topic: e.p.Topic, Partition: e.p.Number, Group: group, EpochFirst: e.from, Format: f.Name()}
	if s.o.Rotation.Independent {
		o.about.EpochFirst = store.NoEpoch
	}
	if !f.Compresses() && s.compressors != nil {
		o.compressed = true
		o.about.ContentEncoding = s.o.Codec.ContentEncoding
		o.about.Format += " " + s.o.Codec.Version()
	}
	var err error
	if o.enc, err = f.Begin(o); err != nil {
		o.content.Free()
		return nil, fmt.Errorf("beginning the object %s: %w", key, err)
	}
	o.count()
	s.stats.openObjects.Add(1)
	if s.o.Rotation.Independent {
		e.order = append(e.order, o)
	}
	return o, nil
}

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

// all returns the objects, in the order of their keys.
func (e *epoch) all() []*object {
	all := make([]*object, 0, len(e.list)+len(e.objects)+1)
	all = append(all, e.list...)
	for _, o := range e.objects {
		all = append(all, o)
	}
	if e.rejects != nil {
		all = append(all, e.rejects)
	}
	slices.SortFunc(all, func(a, b *object) int { return strings.Compare(a.key, b.key) })
	return all
}

// shrink has the largest of the open blocks compressed before they are full, until they take half of what they may. The choice depends on
// the records alone, as the bytes of objects must.
func (e *epoch) shrink(limit int64) {
	all := e.all()
	slices.SortStableFunc(all, func(a, b *object) int { return len(b.raw) - len(a.raw) })
	for _, o := range all {
		if e.raw <= limit/2 {
			return
		}
		o.cut()
	}
}

// unspilled is the number of bytes of input whose content is in memory, as far as is known, but at least 1.
func (e *epoch) unspilled() int64 { return max(1, e.bytes-e.spilled) }

// spillTo moves the content of the open objects to files, and returns how much that was.
func (e *epoch) spillTo(d *block.SpillDir) (int64, error) {
	if e.spill == nil {
		e.spill = d.NewSpill()
	}
	var chains []*block.Chain
	for _, o := range e.all() {
		if err := o.collect(false); err != nil {
			return 0, err
		}
		chains = append(chains, o.content)
	}
	n, err := e.spill.Move(chains)
	if n > 0 {
		e.spilled = e.bytes
		for _, o := range e.objects {
			o.spilled = o.extent.bytes
		}
	}
	return n, err
}

// spillNoMore says that the objects have ended.
func (e *epoch) spillNoMore() {
	if e.spill != nil {
		e.spill.Free()
		e.spill = nil
	}
}

// free gives up the memory.
func (e *epoch) free() {
	e.spillNoMore()
	for _, o := range e.all() {
		o.free()
	}
	e.objects, e.rejects, e.list = nil, nil, nil
}
