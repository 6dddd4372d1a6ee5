// SPDX-License-Identifier: Apache-2.0

package otelstats

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/freehold-go/freehold/cache"
)

func newCache(t *testing.T, name string) *cache.Values[string, int] {
	t.Helper()
	now := time.Now()
	o := cache.Options{Bytes: 1 << 20, Name: name, Clock: func() time.Time { now = now.Add(time.Minute); return now }}
	c, err := cache.NewValues[string, int](cache.OptionsOf[string, int]{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestCache: each figure of a cache. Each event has happened a number of times of its own.
func TestCache(t *testing.T) {
	c := newCache(t, "own")
	for range 4 { // 3 replaced.
		if err := c.Set("kept", 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []string{"a", "b"} {
		c.Set(k, 1)
		c.Delete(k) // 2 deleted.
	}
	c.SetTTL("short", 1, time.Second)
	c.Get("short") // 1 expired, 1 miss.
	for range 5 {
		c.Get("kept") // 5 hits.
	}
	// 3 loads and misses, 1 failure.
	for key, err := range map[string]error{"x": nil, "y": cache.ErrNotFound, "z": errors.New("no")} {
		c.GetOrLoad(t.Context(), key, func(context.Context, string) (int, error) { return 0, err })
	}

	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	for _, name := range []string{"pages \xff", ""} {
		if _, err := RegisterCache(provider, c, name); err != nil {
			t.Fatal(err)
		}
	}
	got := source{reader: reader}.gather(t)
	s := c.Stats()
	want := map[string]float64{}
	for _, name := range []string{`"pages \xff"`, "own"} {
		label := `{cache="` + name + `"}`
		maps.Copy(want, map[string]float64{
			"freehold.cache.hits" + label:                            5,
			"freehold.cache.misses" + label:                          4,
			"freehold.cache.removed" + label + `{reason="evicted"}`:  0,
			"freehold.cache.removed" + label + `{reason="expired"}`:  1,
			"freehold.cache.removed" + label + `{reason="deleted"}`:  2,
			"freehold.cache.removed" + label + `{reason="replaced"}`: 3,
			"freehold.cache.loads" + label:                           3,
			"freehold.cache.load_failures" + label:                   1,
			"freehold.cache.entries" + label:                         2,
			"freehold.cache.eviction_age" + label:                    0,
			"freehold.cache.weight" + label:                          0,
			"freehold.cache.budget" + label:                          1 << 20,
			"freehold.cache.held" + label:                            float64(s.BytesHeld),
			"freehold.cache.viewed" + label:                          0,
			"freehold.cache.entry" + label:                           float64(s.BytesEntries),
			"freehold.cache.table" + label:                           float64(s.BytesTable),
		})
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if s.BytesHeld == 0 || s.BytesEntries == 0 || s.BytesTable == 0 {
		t.Errorf("%+v", s)
	}
}
