// SPDX-License-Identifier: Apache-2.0

package memstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/memstore"
	"github.com/freehold-go/freehold/sink/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Suite{Open: func(*testing.T) store.Store { return memstore.New() }, Large: 1 << 20}.Run(t)
}

func put(s *memstore.Store, key string) error {
	return s.Put(context.Background(), key, store.Bytes([]byte(key)), store.About{})
}

func TestFailEvery(t *testing.T) {
	s := memstore.New()
	s.FailEvery(3, nil)
	for i := 1; i <= 9; i++ {
		if err := put(s, "k"); errors.Is(err, memstore.ErrInjected) != (i%3 == 0) {
			t.Errorf("put %d: %v", i, err)
		}
	}
	if n := s.Puts()["k"]; n != 6 {
		t.Errorf("%d puts, want 6", n)
	}
	s.FailEvery(0, nil)
	for range 3 {
		if err := put(s, "k"); err != nil {
			t.Error(err)
		}
	}
}

func TestRefuse(t *testing.T) {
	s := memstore.New()
	down := errors.New("down")
	s.Refuse(2, down)
	if err := put(s, "k"); !errors.Is(err, down) {
		t.Error(err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, down) {
		t.Error(err)
	}
	if err := put(s, "k"); err != nil {
		t.Error(err)
	}
}

func TestHookSeesBothStations(t *testing.T) {
	s := memstore.New()
	lost := errors.New("the answer was lost")
	var calls []memstore.Call
	s.Hook(func(_ context.Context, c memstore.Call) error {
		calls = append(calls, c)
		if c.Done {
			return lost
		}
		return nil
	})
	if err := put(s, "k"); !errors.Is(err, lost) {
		t.Error(err)
	}
	if string(s.Bytes("k")) != "k" {
		t.Error("the object is not there, though only the answer was lost")
	}
	if len(calls) != 2 || calls[0] != (memstore.Call{Op: memstore.Put, Key: "k", N: 1}) || !calls[1].Done {
		t.Errorf("%+v", calls)
	}
}

func TestHookDelays(t *testing.T) {
	s := memstore.New()
	s.Hook(func(ctx context.Context, _ memstore.Call) error {
		<-ctx.Done()
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Put(ctx, "k", store.Bytes(nil), store.About{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if s.Bytes("k") != nil || len(s.Puts()) != 0 {
		t.Error("a put that was cancelled while it waited has stored its object")
	}
}
