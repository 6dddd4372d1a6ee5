// SPDX-License-Identifier: Apache-2.0

package promstats

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/freehold-go/freehold/cache"
)

// busy is a cache in which each event has happened a number of times of its own: 5 hits, 4 misses
// and so on.
func busy(t *testing.T) *cache.Cache {
	t.Helper()
	now := time.Now()
	c, err := cache.New(cache.Options{Bytes: 1 << 20, Name: "own", Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 4 { // 3 replaced.
		must(c.Set([]byte("kept"), make([]byte, 1000)))
	}
	for _, k := range []string{"a", "b"} {
		must(c.Set([]byte(k), nil))
		c.Delete([]byte(k)) // 2 deleted.
	}
	must(c.SetTTL([]byte("short"), nil, time.Second))
	now = now.Add(time.Minute)
	c.Get(nil, []byte("short")) // 1 expired, 1 miss.
	for range 5 {
		c.Get(nil, []byte("kept")) // 5 hits.
	}
	load := func(err error) func(context.Context, []byte) ([]byte, error) {
		return func(context.Context, []byte) ([]byte, error) { return nil, err }
	}
	// 3 loads and misses, 1 failure.
	c.GetOrLoad(t.Context(), []byte("x"), load(nil))
	c.GetOrLoad(t.Context(), []byte("y"), load(cache.ErrNotFound))
	c.GetOrLoad(t.Context(), []byte("z"), load(errors.New("no")))
	return c
}

// TestCache: each figure of a cache, and no other, under the names of the documentation.
func TestCache(t *testing.T) {
	c := busy(t)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(NewCollector(), NewCacheCollector(c, "pages"), NewCacheCollector(c, ""))
	if err := r.Register(NewCacheCollector(c, "pages")); err == nil {
		t.Error("a registry took two collectors of one name, and will fail at each collection")
	}
	got := gatherFrom(t, r)
	maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.HasPrefix(name, "freehold_cache_") })
	s := c.Stats()
	want := map[string]float64{}
	for _, name := range []string{"pages", "own"} {
		label := `{cache="` + name + `"}`
		maps.Copy(want, map[string]float64{
			"freehold_cache_hits_total" + label:                            5,
			"freehold_cache_misses_total" + label:                          4,
			"freehold_cache_removed_total" + label + `{reason="evicted"}`:  0,
			"freehold_cache_removed_total" + label + `{reason="expired"}`:  1,
			"freehold_cache_removed_total" + label + `{reason="deleted"}`:  2,
			"freehold_cache_removed_total" + label + `{reason="replaced"}`: 3,
			"freehold_cache_loads_total" + label:                           3,
			"freehold_cache_load_failures_total" + label:                   1,
			"freehold_cache_entries" + label:                               2,
			"freehold_cache_eviction_age_seconds" + label:                  0,
			"freehold_cache_weight" + label:                                0,
			"freehold_cache_budget_bytes" + label:                          1 << 20,
			"freehold_cache_held_bytes" + label:                            float64(s.BytesHeld),
			"freehold_cache_viewed_bytes" + label:                          0,
			"freehold_cache_entry_bytes" + label:                           float64(s.BytesEntries),
			"freehold_cache_table_bytes" + label:                           float64(s.BytesTable),
		})
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if s.BytesHeld == 0 || s.BytesEntries == 0 || s.BytesTable == 0 {
		t.Errorf("%+v", s)
	}
	problems, err := testutil.CollectAndLint(NewCacheCollector(c, "pages"))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, error %v", problems, err)
	}

	code, err := os.ReadFile("cache.go")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range regexp.MustCompile(`//\t(\w+)\{`).FindAllSubmatch(code, -1) {
		documented = append(documented, string(m[1]))
	}
	var names []string
	for name := range got {
		name, _, _ = strings.Cut(name, "{")
		names = append(names, name)
	}
	slices.Sort(names)
	slices.Sort(documented)
	if names = slices.Compact(names); !slices.Equal(names, documented) {
		t.Errorf("collected  %q\ndocumented %q", names, documented)
	}
}

// TestCacheOfValues: the collector takes each type of package cache, and a name that Prometheus
// would refuse.
func TestCacheOfValues(t *testing.T) {
	c, err := cache.NewValues[string, int](cache.OptionsOf[string, int]{Options: cache.Options{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Set("a", 1); err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewPedanticRegistry()
	k := NewCacheCollector(c, "bad \xff")
	r.MustRegister(k)
	const name = `freehold_cache_entries{cache=""bad \xff""}`
	if got := gatherFrom(t, r); got[name] != 1 {
		t.Errorf("%s is %v", name, got)
	}
	if !r.Unregister(k) || len(gatherFrom(t, r)) != 0 {
		t.Error("figures of a cache that was unregistered")
	}
}
