// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"time"
)

// RetryOptions say how Retry retries. The zero value is good: it begins with 200 ms, waits at most
// 10 s, ends an attempt after 2 minutes and gives up after 10.
type RetryOptions struct {
	// First is the longest wait before the second attempt. Each further wait may be twice as long.
	// Zero is 200 ms.
	First time.Duration

	// Max is the longest wait. Zero is 10 s.
	Max time.Duration

	// AttemptTimeout ends an attempt that takes longer, so that a connection that hangs does not
	// hold the object until the deadline. It must be longer than the upload of the largest object
	// takes. Zero is 2 minutes; if it is negative, there is no limit. It does not end a List, whose
	// time is also that of the loop that ranges over it.
	AttemptTimeout time.Duration

	// Deadline is the time for one call with all its attempts. Zero is 10 minutes; if it is
	// negative, Retry never gives up.
	Deadline time.Duration

	// Jitter chooses a wait of at most d. Nil chooses each time up to d with the same probability
	// ("full jitter"), so that clients that failed together do not return together.
	Jitter func(d time.Duration) time.Duration

	// OnAttempt is called after each attempt, by the goroutine that made the call, before it waits.
	// Nil is no call.
	OnAttempt func(Attempt)
}

// Attempt describes an attempt that has ended.
type Attempt struct {
	Op   string // "put", "get", "list" or "delete"
	Key  string // or the prefix of a list
	N    int    // 1 for the first
	Took time.Duration
	Err  error         // nil if it succeeded
	Wait time.Duration // before the next attempt; 0 if Last
	Last bool
}

// Retry returns a Store that repeats the calls of s that fail, unless the error is permanent (see
// Permanent) or ctx is done. The error of a call wraps the last attempt's.
//
// A Get is repeated until the object is open; reading it is not. A List goes on behind the last
// object that it has yielded, and the deadline counts from there. Check is not repeated: its caller
// wants to know how things stand.
func Retry(s Store, o RetryOptions) Store {
	o.First = orDefault(o.First, 200*time.Millisecond)
	o.Max = orDefault(o.Max, 10*time.Second)
	o.AttemptTimeout = orDefault(o.AttemptTimeout, 2*time.Minute)
	o.Deadline = orDefault(o.Deadline, 10*time.Minute)
	if o.Jitter == nil {
		o.Jitter = func(d time.Duration) time.Duration { return rand.N(d + 1) }
	}
	if o.OnAttempt == nil {
		o.OnAttempt = func(Attempt) {}
	}
	return &retrying{Store: s, o: o}
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// retrying passes Check, String and Close on.
type retrying struct {
	Store
	o RetryOptions
}

func (r *retrying) Put(ctx context.Context, key string, body Body, about About) error {
	return r.repeat(ctx, "put", key, func(ctx context.Context) error { return r.Store.Put(ctx, key, body, about) })
}

func (r *retrying) Delete(ctx context.Context, key string) error {
	return r.repeat(ctx, "delete", key, func(ctx context.Context) error { return r.Store.Delete(ctx, key) })
}

// repeat makes attempts, each with a context that ends with its time.
func (r *retrying) repeat(ctx context.Context, op, key string, attempt func(context.Context) error) error {
	series := r.newSeries(op, key)
	for {
		err := func() error {
			ctx, cancel := series.limit(ctx)
			defer cancel()
			return attempt(ctx)
		}()
		if again, err := series.next(ctx, err); !again {
			return err
		}
	}
}

// Get leaves the attempt's context alive as long as the object is open, because clients tie reading
// to it.
func (r *retrying) Get(ctx context.Context, key string) (io.ReadCloser, Info, error) {
	series := r.newSeries("get", key)
	for {
		open, cancel := context.WithCancel(ctx)
		var timer *time.Timer
		if d := series.left(); d > 0 {
			timer = time.AfterFunc(d, cancel)
		}
		object, info, err := r.Store.Get(open, key)
		if timer != nil && !timer.Stop() && err == nil { // the context ended just as the object was open
			object.Close()
			err = context.DeadlineExceeded
		}
		if err == nil {
			series.next(ctx, nil)
			return &opened{object, cancel}, info, nil
		}
		cancel()
		if again, err := series.next(ctx, err); !again {
			return nil, Info{}, err
		}
	}
}

type opened struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (o *opened) Close() error {
	defer o.cancel()
	return o.ReadCloser.Close()
}

func (r *retrying) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		series := r.newSeries("list", prefix)
		last := ""
		for {
			var failed error
			for info, err := range r.Store.List(ctx, prefix) {
				if failed = err; err != nil {
					break
				}
				if info.Key <= last { // an attempt before this one has yielded it
					continue
				}
				last = info.Key
				*series = *r.newSeries("list", prefix)
				if !yield(info, nil) {
					return
				}
			}
			again, err := series.next(ctx, failed)
			if err != nil && !again {
				yield(Info{}, err)
			}
			if !again {
				return
			}
		}
	}
}

// A series is the attempts of one call.
type series struct {
	r       *retrying
	op, key string
	n       int // attempts that have ended
	began   time.Time
	attempt time.Time // when the present one began
}

func (r *retrying) newSeries(op, key string) *series {
	now := time.Now()
	return &series{r: r, op: op, key: key, began: now, attempt: now}
}

// left is how long the present attempt may take, or a negative number if there is no limit.
func (s *series) left() time.Duration {
	d := s.r.o.AttemptTimeout
	if s.r.o.Deadline > 0 {
		if rest := max(s.r.o.Deadline-time.Since(s.began), 1); d < 0 || rest < d {
			d = rest
		}
	}
	return d
}

func (s *series) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := s.left(); d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return context.WithCancel(ctx)
}

// next reports an attempt that has ended with err. If another may be made, it waits and returns
// true. Otherwise it returns the call's error. ctx is the caller's.
func (s *series) next(ctx context.Context, err error) (again bool, result error) {
	s.n++
	a := Attempt{Op: s.op, Key: s.key, N: s.n, Took: time.Since(s.attempt), Err: err}
	wait := s.wait()
	late := s.r.o.Deadline > 0 && time.Since(s.began)+wait >= s.r.o.Deadline
	if a.Last = err == nil || IsPermanent(err) || ctx.Err() != nil || late; !a.Last {
		a.Wait = wait
	}
	s.r.o.OnAttempt(a)
	switch {
	case err == nil || a.Last && s.n == 1 && !late:
		return false, err
	case a.Last:
		return false, s.failed(ctx, err)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, s.failed(ctx, err)
	case <-timer.C:
		s.attempt = time.Now()
		return true, nil
	}
}

// wait chooses the time before the next attempt.
func (s *series) wait() time.Duration {
	limit := s.r.o.Max
	if doubled := s.r.o.First << min(s.n-1, 30); doubled > 0 {
		limit = min(limit, doubled)
	}
	return s.r.o.Jitter(limit)
}

func (s *series) failed(ctx context.Context, err error) error {
	err = fmt.Errorf("store: %s %q: gave up after %d attempts in %v: %w", s.op, s.key, s.n, time.Since(s.began).Round(time.Millisecond), err)
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w; the last attempt: %w", cause, err)
	}
	return err
}
