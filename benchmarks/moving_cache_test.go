package main

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/VictoriaMetrics/fastcache"
	"github.com/maypok86/otter/v2"
)

// The functions of this file are quoted in docs/moving-over.md. What becomes of them is in
// cache/example_moving_test.go.

func fastcacheBefore(path string, key []byte, render func() []byte) ([]byte, error) {
	c := fastcache.LoadFromFileOrNew(path, 64<<20)
	defer c.Reset()
	page, ok := c.HasGet(nil, key)
	if !ok {
		page = render()
		c.Set(key, page)
	}
	return page, c.SaveToFile(path)
}

type place struct{ Lat, Long float32 }

func otterBefore(ctx context.Context, name string, look func(context.Context, string) (place, error)) (place, error) {
	c, err := otter.New(&otter.Options[string, place]{
		MaximumSize:      100_000,
		ExpiryCalculator: otter.ExpiryWriting[string, place](time.Hour),
	})
	if err != nil {
		return place{}, err
	}
	defer c.StopAllGoroutines()
	return c.Get(ctx, name, otter.LoaderFunc[string, place](look))
}

func TestMovingCaches(t *testing.T) {
	path, renders := filepath.Join(t.TempDir(), "saved"), 0
	for range 2 { // The second one finds the first one's page.
		page, err := fastcacheBefore(path, []byte("/"), func() []byte { renders++; return []byte("page") })
		if err != nil || string(page) != "page" {
			t.Errorf("%q, error %v", page, err)
		}
	}
	if renders != 1 {
		t.Errorf("%d renders", renders)
	}
	no := errors.New("no")
	for _, want := range []error{nil, no} {
		at, err := otterBefore(t.Context(), "Bern", func(context.Context, string) (place, error) { return place{46.95, 7.44}, want })
		if !errors.Is(err, want) || err == nil && at != (place{46.95, 7.44}) {
			t.Errorf("%v, error %v", at, err)
		}
	}
}
