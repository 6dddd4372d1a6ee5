// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cache"
)

// docs/moving-over.md quotes the functions of this file.

func fastcacheAfter(path string, key []byte, render func() []byte) ([]byte, error) {
	c, err := cache.New(cache.Options{Bytes: 64 << 20})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Load(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	page, ok := c.Get(nil, key)
	if !ok {
		page = render()
		if err := c.Set(key, page); err != nil {
			return page, err
		}
	}
	return page, c.Save(path)
}

type place struct{ Lat, Long float32 }

func otterAfter(ctx context.Context, name string, look func(context.Context, string) (place, error)) (place, error) {
	c, err := cache.NewValues[string, place](cache.OptionsOf[string, place]{
		Options: cache.Options{Bytes: 8 << 20, TTL: time.Hour}, // Some 100,000 names and places.
	})
	if err != nil {
		return place{}, err
	}
	defer c.Close()
	return c.GetOrLoad(ctx, name, look)
}

func TestMovingCaches(t *testing.T) {
	path, renders := filepath.Join(t.TempDir(), "saved"), 0
	for range 2 { // The second one finds the first one's page.
		page, err := fastcacheAfter(path, []byte("/"), func() []byte { renders++; return []byte("page") })
		if err != nil || string(page) != "page" {
			t.Errorf("%q, error %v", page, err)
		}
	}
	if renders != 1 {
		t.Errorf("%d renders", renders)
	}
	no := errors.New("no")
	for _, want := range []error{nil, no} {
		at, err := otterAfter(t.Context(), "Bern", func(context.Context, string) (place, error) { return place{46.95, 7.44}, want })
		if !errors.Is(err, want) || err == nil && at != (place{46.95, 7.44}) {
			t.Errorf("%v, error %v", at, err)
		}
	}
}
