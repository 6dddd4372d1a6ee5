// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/runtime/protoimpl"
)

// handOver lets protobuf-go decode the records from mark on, which belong to the message at to.
func (d *decoder) handOver(p *plan, to pointer, mark int) bool {
	records := d.records[mark:]
	d.records = d.records[:mark]
	b := d.data[records[0].from:records[0].to:records[0].to]
	for _, r := range records[1:] {
		b = append(b, d.data[r.from:r.to]...)
	}
	m, ok := reflect.NewAt(p.typ, to).Interface().(proto.Message)
	if !ok {
		return d.fail(errMalformed()) >= 0
	}
	o := proto.UnmarshalOptions{
		Merge: true, AllowPartial: true, NoLazyDecoding: true,
		DiscardUnknown: d.opts.DiscardUnknown,
		Resolver:       d.opts.Resolver,
		RecursionLimit: d.depth + 1,
	}
	round := d.a.Round()
	out, err := o.UnmarshalState(protoiface.UnmarshalInput{Buf: b, Message: m.ProtoReflect()})
	if how := round.Ended(); how != "" {
		panic(fmt.Errorf("arenaproto: the arena was %s while it was decoded into, by the Resolver of the options or by another goroutine", how))
	}
	if err != nil {
		return d.fail(err) >= 0
	}
	if out.Flags&protoiface.UnmarshalInitialized == 0 {
		d.partial = true
	}
	return true
}

// setPresent sets a presence bit of a message of the opaque API, of which there are so many. part is the
// word that has it.
func setPresent(part *uint32, bit, bits uint32) { protoimpl.X.SetPresentNonAtomic(part, bit, bits) }
