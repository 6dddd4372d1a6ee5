// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// A PanicError is the panic of a loader, which all who wait for the load panic with.
type PanicError struct {
	Value any
	Stack []byte // Of the loader.
}

// Error has the value and the loader's stack.
func (p *PanicError) Error() string {
	return fmt.Sprintf("cache: the loader panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap is the value, if it is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// errGoexit says that the goroutine of a load was ended.
var errGoexit = errors.New("cache: the loader, or OnRemove, called runtime.Goexit")

// loading is the key of a load in its context, behind those of the loads around it.
type loading struct {
	e     *engine
	key   []byte
	outer *loading
}

type loadingKey struct{}

type loader = func(context.Context, []byte) (record, error)

// readForLoad is read for a caller that can load: the entry may be stale, and refresh says that it is to be loaded anew.
func (e *engine) readForLoad(key []byte) (r record, l lookup, refresh bool) {
	r, l = e.read(key, true)
	e.counts.read(l.ok && !l.stale)
	at := l.until.at
	return r, l, l.ok && at != 0 && e.o.Refresh > 0 && at-e.now() <= e.o.Refresh.Milliseconds()
}

// getOrLoad gets what readForLoad has returned.
func (e *engine) getOrLoad(ctx context.Context, key []byte, load loader, v record, l lookup, refresh bool) (record, error) {
	switch {
	case l.ok && l.absent && !l.stale:
		return record{}, ErrNotFound
	case l.ok && !l.stale:
		if refresh {
			e.join(context.WithoutCancel(ctx), key, load, false)
		}
		return v, nil
	}
	if err := e.checkSize(len(key), 0); err != nil {
		return record{}, err
	}
	if err := ctx.Err(); err != nil {
		return record{}, err
	}
	for in, _ := ctx.Value(loadingKey{}).(*loading); in != nil; in = in.outer {
		if in.e == e && bytes.Equal(in.key, key) {
			return record{}, fmt.Errorf("%w: %q", ErrRecursive, key)
		}
	}
	f := e.join(ctx, key, load, true)
	select {
	case <-f.done:
	case <-ctx.Done():
		e.leave(f)
		return record{}, ctx.Err()
	}
	if f.err == nil {
		return record{value: bytes.Clone(f.result.value), weighed: f.result.weighed}, nil
	}
	if p, ok := f.err.(*PanicError); ok {
		panic(p)
	}
	if l.stale && !l.absent && !errors.Is(f.err, ErrNotFound) {
		return v, nil
	}
	return record{}, f.err
}

// join finds the load of a key, or begins it.
func (e *engine) join(ctx context.Context, key []byte, load loader, wait bool) *flight {
	fs := &e.flights
	outer, _ := ctx.Value(loadingKey{}).(*loading)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.by[string(key)]
	if f == nil {
		f = &flight{key: string(key), done: make(chan struct{})}
		key := bytes.Clone(key)
		var inner context.Context
		inner, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		inner = context.WithValue(inner, loadingKey{}, &loading{e, key, outer})
		if fs.by == nil {
			fs.by = map[string]*flight{}
		}
		fs.by[f.key] = f
		fs.n.Add(1)
		go e.fly(inner, f, key, load, wait)
	}
	if wait {
		f.waiting++
	} else {
		f.kept = true
	}
	return f
}

// leave lets a goroutine no longer wait. Without any the load's context ends, and the next goroutine
// that asks begins another load.
func (e *engine) leave(f *flight) {
	fs := &e.flights
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.waiting--; f.waiting > 0 || f.kept {
		return
	}
	f.cancel()
	f.forget.Store(true)
	fs.remove(f)
}

// fly calls the loader and stores the result. If look is true, it looks for the value before: another
// load may have ended between the caller's look and join.
func (e *engine) fly(ctx context.Context, f *flight, key []byte, load loader, look bool) {
	defer f.cancel()
	defer e.arrive(f) // Also if OnRemove ends this goroutine.
	f.err = errGoexit
	if look {
		if v, l := e.read(key, true); l.ok && !l.stale {
			if f.result, f.err = v, nil; l.absent {
				f.err = ErrNotFound
			}
			return
		}
	}
	returned := false
	defer func() {
		if p := recover(); p != nil {
			f.err = &PanicError{Value: p, Stack: debug.Stack()}
		}
		if !returned {
			e.counts.failed.Add(1)
		}
		e.land(f, key)
	}()
	e.counts.loads.Add(1)
	f.result, f.err = load(ctx, key)
	if f.err != nil {
		f.result = record{}
	}
	returned = f.err == nil || errors.Is(f.err, ErrNotFound)
}

// land stores the result of a load, unless the key was deleted or set meanwhile.
func (e *engine) land(f *flight, key []byte) {
	may := func(uint64) bool { return !f.forget.Load() }
	switch {
	case f.err == nil:
		r := f.result
		r.until = e.deadlines(e.o.TTL)
		_ = e.put(key, r, 0, may)
	case !errors.Is(f.err, ErrNotFound):
	case e.o.NegativeTTL > 0:
		r := record{until: deadlines{at: e.now() + e.o.NegativeTTL.Milliseconds()}, weighed: weighed{weight: int64(len(key))}}
		_ = e.put(key, r, flagAbsent, may)
	default:
		e.remove(key, may)
	}
}

// arrive ends a load and wakes those who wait for it.
func (e *engine) arrive(f *flight) {
	e.flights.mu.Lock()
	defer e.flights.mu.Unlock()
	e.flights.remove(f)
	close(f.done)
}
