// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// A jsonReader builds documents. It keeps its scratch memory between documents, so a way makes each
// slice once, when the length is known.
type jsonReader struct {
	decoder *jsontext.Decoder
	way     *JSONWay
	items   []*JSONNode  // of all arrays that are open, the innermost last
	members []JSONMember // of all objects that are open
	scratch []byte       // of the string that is being read
}

// read builds the document in data, which must be one JSON value.
func (r *jsonReader) read(data []byte, way *JSONWay) (*JSONNode, error) {
	buffer := bytes.NewBuffer(data)
	if r.decoder == nil {
		r.decoder = jsontext.NewDecoder(buffer)
	} else {
		r.decoder.Reset(buffer)
	}
	r.way = way
	root, err := r.value()
	if err != nil {
		return nil, fmt.Errorf("bench: read JSON: %w", err)
	}
	if _, err := r.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("bench: read JSON: more than one value, or what is none, at byte %d", r.decoder.InputOffset())
	}
	return root, nil
}

func (r *jsonReader) value() (*JSONNode, error) {
	node := r.way.Node()
	node.Kind = r.decoder.PeekKind()
	var err error
	switch node.Kind {
	case jsontext.KindString:
		node.Text, err = r.text()
	case jsontext.KindBeginArray:
		err = r.array(node)
	case jsontext.KindBeginObject:
		err = r.object(node)
	default:
		var token jsontext.Token
		if token, err = r.decoder.ReadToken(); err == nil && node.Kind == jsontext.KindNumber {
			node.Number, err = token.Float()
		}
	}
	return node, err
}

// text reads a string or the name of a member. Most have no escapes and are copied once.
func (r *jsonReader) text() (string, error) {
	if r.way.Token != nil {
		token, err := r.decoder.ReadToken()
		if err != nil {
			return "", err
		}
		return r.way.Token(token), nil
	}
	raw, err := r.decoder.ReadValue()
	if err != nil {
		return "", err
	}
	if len(raw) == 2 {
		return "", nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return r.way.Text(raw[1 : len(raw)-1]), nil
	}
	if r.scratch, err = jsontext.AppendUnquote(r.scratch[:0], raw); err != nil {
		return "", err
	}
	return r.way.Text(r.scratch), nil
}

func (r *jsonReader) array(node *JSONNode) error {
	if _, err := r.decoder.ReadToken(); err != nil {
		return err
	}
	from := len(r.items)
	for r.decoder.PeekKind() != jsontext.KindEndArray {
		item, err := r.value()
		if err != nil {
			return err
		}
		r.items = append(r.items, item)
	}
	if own := r.items[from:]; len(own) > 0 {
		r.way.SetItems(node, own)
		clear(own)
		r.items = r.items[:from]
	}
	_, err := r.decoder.ReadToken()
	return err
}

func (r *jsonReader) object(node *JSONNode) error {
	if _, err := r.decoder.ReadToken(); err != nil {
		return err
	}
	from := len(r.members)
	for r.decoder.PeekKind() != jsontext.KindEndObject {
		name, err := r.text()
		if err != nil {
			return err
		}
		value, err := r.value()
		if err != nil {
			return err
		}
		r.members = append(r.members, JSONMember{name, value})
	}
	if own := r.members[from:]; len(own) > 0 {
		r.way.SetMembers(node, own)
		clear(own)
		r.members = r.members[:from]
	}
	_, err := r.decoder.ReadToken()
	return err
}
