// SPDX-License-Identifier: Apache-2.0

// Package memstore is a store in memory for tests, which fails and waits as a test tells it.
//
// Nothing in it looks at a clock: failures are counted in calls, and a delay is a function of the
// test's. So a test that runs in a bubble of testing/synctest, or a simulator with a seed, sees the
// same each time.
//
// A call goes through four stations, in this order: Hook before the call, the failures of FailEvery
// and Refuse, the work itself, and Hook after it. An error before the work means that nothing was
// done. An error after it means that all was done and the answer was lost: the case in which a sink
// must not write twice what it promised to write once.
package memstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/freehold-go/freehold/sink/store"
)

// ErrInjected is the error of the failures that a test asks for without an error of its own. It is
// not permanent.
var ErrInjected = errors.New("memstore: injected failure")

// Store holds objects in a map. The zero value is not ready: use New.
type Store struct {
	mu      sync.Mutex
	objects map[string]object
	calls   map[Op]int
	puts    map[string]int
	every   int
	refuse  int
	failure error
	hook    func(context.Context, Call) error
}

type object struct {
	content []byte
	info    store.Info
}

// Op is a method of a store.
type Op string

// The operations.
const (
	Put    Op = "put"
	Get    Op = "get"
	List   Op = "list"
	Delete Op = "delete"
	Check  Op = "check"
)

// Call is what a Hook sees.
type Call struct {
	Op   Op
	Key  string // or the prefix of a list
	N    int    // counts the calls of Op, from 1
	Done bool   // after the work; the hook is called twice for each call that succeeds
}

// New returns an empty store.
func New() *Store {
	return &Store{objects: map[string]object{}, calls: map[Op]int{}, puts: map[string]int{}, failure: ErrInjected}
}

// FailEvery makes each n-th call of an operation fail before it does anything; each operation
// counts for itself. Zero ends it. With a nil error the calls fail with ErrInjected.
func (s *Store) FailEvery(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.every, s.failure = n, orInjected(err)
}

// Refuse makes the next n calls fail, of any operation, as a store does that is down for a while.
// With a nil error they fail with ErrInjected.
func (s *Store) Refuse(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.failure = n, orInjected(err)
}

func orInjected(err error) error {
	if err == nil {
		return ErrInjected
	}
	return err
}

// Hook sets a function that is called before and after each call's work, without a lock: it may
// wait, use the store, and return an error, with which the call fails. It should return when ctx is
// done. Nil removes it.
func (s *Store) Hook(hook func(ctx context.Context, c Call) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// Puts returns how often an object was stored under each key, whether the caller heard of it or
// not. A number above 1 is an object that was replaced.
func (s *Store) Puts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.puts)
}

// Bytes returns the content of an object, or nil. The caller does not change it.
func (s *Store) Bytes(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].content
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, key string, body store.Body, about store.About) error {
	if err := store.CheckPut(key, body); err != nil {
		return err
	}
	return s.call(ctx, Put, key, func() error {
		r := store.NewReader(ctx, body)
		content := make([]byte, body.Size())
		if _, err := io.ReadFull(r, content); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.puts[key]++
		s.objects[key] = object{content, store.Info{
			Key: key, Size: body.Size(), CRC32C: body.CRC32C(), HasCRC: true, About: about, HasAbout: true,
		}}
		return nil
	})
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (r io.ReadCloser, info store.Info, err error) {
	if err := store.CheckKey(key); err != nil {
		return nil, store.Info{}, err
	}
	err = s.call(ctx, Get, key, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		o, ok := s.objects[key]
		if !ok {
			return fmt.Errorf("memstore: %q: %w", key, store.ErrNotFound)
		}
		r, info = &reader{ctx, bytes.NewReader(o.content)}, o.info
		return nil
	})
	if err != nil {
		return nil, store.Info{}, err
	}
	return r, info, nil
}

// reader fails when its context is done.
type reader struct {
	ctx context.Context
	r   *bytes.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func (r *reader) Close() error { return nil }

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		var infos []store.Info
		err := s.call(ctx, List, prefix, func() error {
			s.mu.Lock()
			defer s.mu.Unlock()
			for key, o := range s.objects {
				if strings.HasPrefix(key, prefix) {
					infos = append(infos, o.info)
				}
			}
			return nil
		})
		if err != nil {
			yield(store.Info{}, err)
			return
		}
		slices.SortFunc(infos, func(a, b store.Info) int { return strings.Compare(a.Key, b.Key) })
		for _, info := range infos {
			if err := ctx.Err(); err != nil {
				yield(store.Info{}, err)
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	return s.call(ctx, Delete, key, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.objects, key)
		return nil
	})
}

// Check implements store.Store.
func (s *Store) Check(ctx context.Context) error {
	return s.call(ctx, Check, "", func() error { return nil })
}

// String implements store.Store.
func (s *Store) String() string { return "mem://" }

// Close implements store.Store. The objects stay, so that a test can look at them.
func (s *Store) Close() error { return nil }

// call takes a call through the stations that the package's comment names.
func (s *Store) call(ctx context.Context, op Op, key string, work func() error) error {
	s.mu.Lock()
	s.calls[op]++
	c := Call{Op: op, Key: key, N: s.calls[op]}
	hook := s.hook
	var failure error
	switch {
	case s.refuse > 0:
		s.refuse--
		failure = s.failure
	case s.every > 0 && c.N%s.every == 0:
		failure = s.failure
	}
	s.mu.Unlock()

	if hook == nil {
		hook = func(context.Context, Call) error { return nil }
	}
	if err := hook(ctx, c); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if failure != nil {
		return failure
	}
	if err := work(); err != nil {
		return err
	}
	c.Done = true
	return hook(ctx, c)
}
