// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
)

// fetched is a schema of the registry.
type fetched struct {
	kind sr.SchemaType

	// Of Protocol Buffers, if the registry compiles schemas.
	set  *protobuf.Set
	main string // the file of the schema
	err  error  // a *record.Bad if the schema cannot be compiled

	mu    sync.RWMutex
	types map[string]*protobuf.Type // by the indexes as they stand in values
}

// attemptTimeout ends an attempt whose connection hangs.
const attemptTimeout = 30 * time.Second

// fetch asks for a schema once.
func (r *Registry) fetch(c *sr.Client, id int32) (*fetched, error) {
	ctx, cancel := context.WithTimeout(r.ctx, attemptTimeout)
	defer cancel()
	s, err := c.SchemaByID(ctx, int(id))
	if err != nil {
		return nil, answer(err)
	}
	f := &fetched{kind: s.Type, types: map[string]*protobuf.Type{}}
	if r.o.Messages == nil || s.Type != sr.TypeProtobuf {
		return f, nil
	}
	f.main = fmt.Sprintf("schema-%d.proto", id)
	sources := map[string]string{f.main: s.Schema}
	if err := references(ctx, c, s.References, sources); err != nil {
		return nil, answer(err)
	}
	if f.set, err = Compile(f.main, sources, *r.o.Messages); err != nil {
		f.err = record.Badf("the schema %d cannot be compiled: %w", id, err)
	}
	return f, nil
}

// references fetches the files that a schema imports, and those that they import.
func references(ctx context.Context, c *sr.Client, all []sr.SchemaReference, sources map[string]string) error {
	for _, ref := range all {
		if _, ok := sources[ref.Name]; ok {
			continue
		}
		s, err := c.SchemaByVersion(ctx, ref.Subject, ref.Version)
		if err != nil {
			return err
		}
		sources[ref.Name] = s.Schema.Schema
		if err := references(ctx, c, s.References, sources); err != nil {
			return err
		}
	}
	return nil
}

// mostTypes bounds the types that are kept by the bytes of their indexes, which can be written in many ways.
const mostTypes = 1000

// message returns the type of a message by the indexes that stand in front of it. The error is a *record.Bad.
func (f *fetched) message(raw []byte) (*protobuf.Type, error) {
	f.mu.RLock()
	t := f.types[string(raw)]
	f.mu.RUnlock()
	switch {
	case t != nil:
		return t, nil
	case f.err != nil:
		return nil, f.err
	case f.kind != sr.TypeProtobuf:
		return nil, record.Badf("the schema of the value is of the type %s and not PROTOBUF", f.kind)
	}
	count, n := binary.Varint(raw)
	path := []int{0}
	if count > 0 {
		path = path[:0]
	}
	for range count {
		index, k := binary.Varint(raw[n:])
		path = append(path, int(index))
		n += k
	}
	t, err := f.set.ByIndexes(f.main, path)
	if err != nil {
		return nil, &record.Bad{Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.types) < mostTypes {
		f.types[string(raw)] = t
	}
	return t, nil
}
