// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/memstore"
	"github.com/freehold-go/freehold/sink/store/storetest"
)

var errDown = errors.New("down")

// whole waits as long as it may, so that tests can count.
func whole(d time.Duration) time.Duration { return d }

// retried is a Retry over a memory store, and the attempts that it has reported.
func retried(o store.RetryOptions) (*memstore.Store, store.Store, *[]store.Attempt) {
	s := memstore.New()
	attempts := &[]store.Attempt{}
	if o.Jitter == nil {
		o.Jitter = whole
	}
	o.OnAttempt = func(a store.Attempt) { *attempts = append(*attempts, a) }
	return s, store.Retry(s, o), attempts
}

func putX(ctx context.Context, s store.Store) error {
	return s.Put(ctx, "k", store.Bytes([]byte("x")), store.About{})
}

func TestRetryPassesConformance(t *testing.T) {
	storetest.Suite{Large: 1 << 20, Open: func(*testing.T) store.Store {
		s := memstore.New()
		s.FailEvery(3, nil)
		return noCheck{store.Retry(s, store.RetryOptions{First: 1})}
	}}.Run(t)
}

// noCheck lets Check through, which Retry does not repeat.
type noCheck struct{ store.Store }

func (n noCheck) Check(ctx context.Context) error { return ctx.Err() }

func TestRetryBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r, attempts := retried(store.RetryOptions{First: time.Second, Max: 5 * time.Second})
		s.Refuse(5, errDown)
		began := time.Now()
		if err := putX(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 17*time.Second {
			t.Errorf("took %v, want 1+2+4+5+5 s", took)
		}
		var waits []time.Duration
		for i, a := range *attempts {
			waits = append(waits, a.Wait/time.Second)
			if a.Op != "put" || a.Key != "k" || a.N != i+1 || a.Last != (i == 5) || errors.Is(a.Err, errDown) != (i < 5) {
				t.Errorf("attempt %+v", a)
			}
		}
		if !slices.Equal(waits, []time.Duration{1, 2, 4, 5, 5, 0}) {
			t.Errorf("waits %v", waits)
		}
	})
}

func TestRetryJitterIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		seen := map[time.Duration]bool{}
		r := store.Retry(s, store.RetryOptions{First: time.Second, Max: time.Second, OnAttempt: func(a store.Attempt) {
			if a.Wait < 0 || a.Wait > time.Second {
				t.Errorf("wait %v", a.Wait)
			}
			seen[a.Wait] = true
		}})
		s.Refuse(50, errDown)
		if err := putX(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if len(seen) < 40 {
			t.Errorf("%d different waits of 50", len(seen))
		}
	})
}

func TestRetryDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r, attempts := retried(store.RetryOptions{First: time.Second, Max: 10 * time.Second, Deadline: 30 * time.Second})
		s.Refuse(1000, errDown)
		began := time.Now()
		err := putX(t.Context(), r)
		if !errors.Is(err, errDown) || !strings.Contains(err.Error(), "6 attempts in 25s") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != 25*time.Second { // 1+2+4+8+10; 10 more would be too late
			t.Errorf("took %v", took)
		}
		if last := (*attempts)[len(*attempts)-1]; !last.Last || last.Wait != 0 {
			t.Errorf("%+v", last)
		}
	})
}

func TestRetryForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r, attempts := retried(store.RetryOptions{Deadline: -1, AttemptTimeout: -1})
		s.Refuse(10_000, errDown)
		if err := putX(t.Context(), r); err != nil || len(*attempts) != 10_001 {
			t.Errorf("%v after %d attempts", err, len(*attempts))
		}
	})
}

func TestRetryStopsAtPermanentErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r, attempts := retried(store.RetryOptions{})
		s.Refuse(1, store.Permanent(errDown))
		if err := putX(t.Context(), r); !errors.Is(err, errDown) || len(*attempts) != 1 || !(*attempts)[0].Last {
			t.Errorf("%v, %+v", err, *attempts)
		}
		*attempts = nil
		if _, _, err := r.Get(t.Context(), "missing"); !errors.Is(err, store.ErrNotFound) || len(*attempts) != 1 {
			t.Errorf("%v, %+v", err, *attempts)
		}
	})
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r, _ := retried(store.RetryOptions{First: time.Minute, Max: time.Minute})
		s.Refuse(1000, errDown)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := putX(ctx, r); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errDown) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestRetryEndsAttemptsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r, attempts := retried(store.RetryOptions{First: time.Second, AttemptTimeout: 20 * time.Second})
		s.Hook(func(ctx context.Context, c memstore.Call) error {
			if c.N == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		began := time.Now()
		if err := putX(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		object, _, err := r.Get(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 42*time.Second || len(*attempts) != 4 {
			t.Errorf("took %v, want twice 21 s; attempts %+v", took, *attempts)
		}
		time.Sleep(time.Hour) // the limit is for opening the object
		if b, err := io.ReadAll(object); string(b) != "x" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		object.Close()
		if _, err := object.Read(make([]byte, 1)); err == nil {
			t.Error("Close did not end the object's context")
		}
	})
}

// pages is a store whose listing breaks off after each third object that it has not listed before.
type pages struct {
	store.Store
	listed int
}

func (p *pages) List(ctx context.Context, prefix string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		n := 0
		for info, err := range p.Store.List(ctx, prefix) {
			if n++; err == nil && n > p.listed+3 {
				p.listed += 3
				yield(store.Info{}, errDown)
				return
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func TestRetryListGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		for i := range 9 {
			s.Put(t.Context(), fmt.Sprintf("k%d", i), store.Bytes(nil), store.About{})
		}
		lists := 0
		s.Hook(func(_ context.Context, c memstore.Call) error {
			if lists = c.N; c.N%2 == 1 {
				return errDown
			}
			return nil
		})
		r := store.Retry(&pages{s, 0}, store.RetryOptions{Jitter: whole, Deadline: 20 * time.Second})
		var keys []string
		for info, err := range r.List(t.Context(), "k") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, info.Key)
			time.Sleep(15 * time.Second) // more than the deadline in all, but not since the last object
		}
		if want := "k0 k1 k2 k3 k4 k5 k6 k7 k8"; strings.Join(keys, " ") != want || lists < 6 {
			t.Errorf("%q in %d lists", keys, lists)
		}
	})
}
