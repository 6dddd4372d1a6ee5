// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/freehold-go/freehold/cache"
	"github.com/freehold-go/freehold/gctune"
)

// readThrough keeps pages, and loads those that it has not.
func readThrough(ctx context.Context, page func(ctx context.Context, key []byte) ([]byte, error)) error {
	c, err := cache.New(cache.Options{Bytes: 256 << 20, TTL: time.Hour, NegativeTTL: time.Second, Stale: time.Hour})
	if err != nil {
		return err
	}
	defer c.Close()
	html, err := c.GetOrLoad(ctx, []byte("/index.html"), page)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d entries\n", html, c.Len())
	return nil
}

func ExampleCache_GetOrLoad() {
	err := readThrough(context.Background(), func(_ context.Context, key []byte) ([]byte, error) {
		return []byte("the page " + string(key)), nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: the page /index.html, 1 entries
}

// besideTuner makes a cache and lets the Go heap use the memory beside it.
func besideTuner(ctx context.Context) (*cache.Cache, error) {
	if _, err := gctune.Start(ctx, gctune.Options{}); err != nil { // Until ctx ends.
		return nil, err
	}
	return cache.New(cache.Options{Bytes: 1 << 30})
}

func Example_besideTuner() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := besideTuner(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.Stats().Bytes)
	// Output: 1073741824
}

func ExampleValues() {
	type place struct{ Lat, Long float32 }
	c, err := cache.NewValues[string, place](cache.OptionsOf[string, place]{Options: cache.Options{Bytes: 1 << 20}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Set("Bern", place{46.95, 7.44}); err != nil {
		fmt.Println(err)
	}
	at, ok := c.Get("Bern")
	fmt.Println(at, ok)
	// Output: {46.95 7.44} true
}

func ExampleObjects() {
	type page struct{ Title, Body string }
	c, err := cache.NewObjects(cache.OptionsOf[string, *page]{
		Options: cache.Options{Bytes: 64 << 20},
		Weight:  func(p *page) int { return 64 + len(p.Title) + len(p.Body) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Set("/", &page{Title: "Home"}); err != nil {
		fmt.Println(err)
	}
	p, ok := c.Get("/")
	fmt.Println(p.Title, ok)
	// Output: Home true
}

func ExampleMap() {
	m, err := cache.NewMap[string, uint32](cache.MapOptions{Limit: 1 << 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for _, word := range []string{"a", "b", "a"} {
		if err := m.Update(word, func(n uint32, _ bool) (uint32, cache.Op) { return n + 1, cache.Store }); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(m.Get("a"))
	// Output: 2 true
}
