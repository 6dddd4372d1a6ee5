// SPDX-License-Identifier: Apache-2.0

// Package objectkey makes the keys of objects from a template.
//
// A template is text with places for the topic, the partition, the group and the first offset of an object, as
// "{topic}/{group}/{partition:04}-{offset:020}.jsonl{extension}":
//
//   - {topic} is the topic's name.
//   - {partition} and {offset} are decimal numbers. A width fills them with zeros, so that keys are in order: {offset:020}. The width has a zero in
//     front. Larger numbers are longer.
//   - {group} is the path that the partitioner makes. If it is empty, a slash behind it goes with it.
//   - {extension} is that of the format with that of the compression.
//
// Parse takes a template only if every key leads back to its topic, partition, group and first offset. So two objects never have one key, and an object that
// is written again has the key that it had. That is what exactly-once delivery rests on.
package objectkey

import (
	"strconv"
	"strings"
)

// Default is the template for most uses.
const Default = "{topic}/{group}/{partition:04}-{offset:020}{extension}"

// A Template makes keys. Its methods may be called by several goroutines at once.
type Template struct {
	text      string
	parts     []part
	extension string
}

// A part is literal text or a place.
type part struct {
	kind  kind
	text  string // Of a literal.
	width int
}

type kind uint8

const (
	literal kind = iota
	topic
	partition
	group
	offset
	extension
)

var places = map[string]kind{"topic": topic, "partition": partition, "group": group, "offset": offset, "extension": extension}

// An Object has what a key is made of.
type Object struct {
	Topic     string
	Partition int32
	Group     []byte // As Partitioner.Group makes it.
	Offset    int64  // Of the first record.
}

// String is the template's text.
func (t *Template) String() string { return t.text }

// Append appends the key of an object to dst. It allocates nothing if dst has room.
func (t *Template) Append(dst []byte, o Object) []byte {
	from, join := len(dst), false
	for _, p := range t.parts {
		text := p.text
		if join && strings.HasPrefix(text, "/") {
			text = text[1:]
		}
		join = false
		switch p.kind {
		case literal:
			dst = append(dst, text...)
		case topic:
			dst = append(dst, o.Topic...)
		case partition:
			dst = appendNumber(dst, int64(o.Partition), p.width)
		case offset:
			dst = appendNumber(dst, o.Offset, p.width)
		case group:
			dst = append(dst, o.Group...)
			join = len(o.Group) == 0 && (len(dst) == from || dst[len(dst)-1] == '/')
		case extension:
			dst = append(dst, t.extension...)
		}
	}
	return dst
}

// Prefix appends the part of the key that all objects of a topic share, for listings.
func (t *Template) Prefix(dst []byte, name string) []byte {
	for _, p := range t.parts {
		switch p.kind {
		case literal:
			dst = append(dst, p.text...)
		case topic:
			dst = append(dst, name...)
		default:
			return dst
		}
	}
	return dst
}

// appendNumber appends n with zeros in front.
func appendNumber(dst []byte, n int64, width int) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	for range width - len(text) {
		dst = append(dst, '0')
	}
	return append(dst, text...)
}
