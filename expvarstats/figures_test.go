// SPDX-License-Identifier: Apache-2.0

package expvarstats

import (
	"context"
	"encoding/json"
	"expvar"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/gctune"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/offheap"
)

func init() { Publish("freehold") }

// read fetches the variable as a monitor would, by HTTP.
func read(t *testing.T) (f Figures) {
	t.Helper()
	s := httptest.NewServer(expvar.Handler())
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Freehold json.RawMessage }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if err := json.Unmarshal(all.Freehold, &f); err != nil {
		t.Fatalf("%v in %s", err, all.Freehold)
	}
	return f
}

func TestPublish(t *testing.T) {
	p := offheap.NewPurpose("expvar")
	before := read(t)
	b := p.Alloc(10 << 20)
	defer offheap.Free(b)
	p.SetLimit(1 << 30)
	defer p.SetLimit(0)
	a := arena.NewOffHeap(arena.Options{Purpose: p})
	defer a.Free()
	arena.MakeSlice[int64](a, 1<<17, 1<<17)
	after := read(t)
	if n := after.Offheap.Purposes["expvar"]; n.InUse < 10<<20 || n.Held < n.InUse || n.Limit != 1<<30 {
		t.Errorf("10 MiB on an account with a limit of 1 GiB: %+v", n)
	}
	if d := after.Arenas.Count - before.Arenas.Count; d != 1 || after.Arenas.Held < 1<<20 {
		t.Errorf("%d more arenas: %+v", d, after.Arenas)
	}
	if freehold.Modes().Heap != after.Modes["heap"] {
		t.Errorf("modes %v", after.Modes)
	}
	if freehold.Modes().Heap || sanitize.Race {
		return // Go counts the bytes.
	}
	if d := after.Total.InUse - before.Total.InUse; d < 11<<20 || after.Packages["offheap"].InUse != after.Total.InUse {
		t.Errorf("%d bytes more in use, of %+v in %+v", d, after.Packages, after.Total)
	}
	if after.Arenas.OffHeap < 1<<20 {
		t.Errorf("%+v", after.Arenas)
	}
}

// TestTuner: the variable has the tuner's figures while a tuner runs, and no longer.
func TestTuner(t *testing.T) {
	if f := read(t); f.Tuner != nil {
		t.Errorf("no tuner runs: %+v", f.Tuner)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tuner, err := gctune.Start(ctx, gctune.Options{
		Interval: -1, Limit: func() (int64, error) { return 1 << 40, nil }, Other: func() int64 { return 1 << 38 }, KeepGOGC: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, f := tuner.Stats(), read(t)
	if u := f.Tuner; u == nil || u.Total != 1<<40 || u.Other != 1<<38 || u.Limit != s.Limit || u.Room != s.Room || u.Headroom != s.Headroom ||
		u.Runtime != s.Runtime || u.Live != s.Live || u.GOGC != s.GOGC || u.State != "ample" || u.Looks != 1 || u.Errors != 0 {
		t.Errorf("%+v, want the figures of %+v", u, s)
	}
	cancel()
	<-tuner.Done()
	if f := read(t); f.Tuner != nil {
		t.Errorf("the tuner has ended: %+v", f.Tuner)
	}
}

// TestFields: the names of fields are a promise to the readers of the JSON.
func TestFields(t *testing.T) {
	got, err := json.Marshal(Figures{
		Total: Totals{1, 2, 3, 4}, Packages: map[string]Totals{"p": {}}, GoMemoryLimit: 5, Modes: map[string]bool{"heap": true},
		Offheap: Offheap{6, 7, 8, 25, map[string]Purpose{"q": {9, 10, 11}}}, Arenas: Arenas{12, 13, 14, 15, 16, 17, 24},
		Debug: Debug{18, 19, 20, 21, 22, 23, 26, 27},
		Tuner: &Tuner{28, 29, 30, 31, 32, 33, 34, 35, 36, 37, "tight", 0.5, &Pressure{38, 39}, 40, 41, 42, 43},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"total":{"in_use":1,"retained":2,"purged":3,"reserved":4},` +
		`"packages":{"p":{"in_use":0,"retained":0,"purged":0,"reserved":0}},"go_memory_limit":5,"modes":{"heap":true},` +
		`"offheap":{"held":6,"metadata":7,"limit":8,"locals_dropped":25,"purposes":{"q":{"in_use":9,"held":10,"limit":11}}},` +
		`"arenas":{"count":12,"held":13,"off_heap":14,"retained":15,"leaked":16,"leaked_bytes":17,"forgotten":24},` +
		`"debug":{"blocks":18,"guarded":19,"quarantined":20,"guard_bytes":21,"unguarded":22,"skipped_samples":23,"unknown":26,"lost_stacks":27},` +
		`"gctune":{"total":28,"limit":29,"room":30,"headroom":31,"squeezed":32,"other":33,"runtime":34,"live":35,"wanted":36,` +
		`"gogc":37,"state":"tight","gc_share":0.5,"pressure":{"some":38,"full":39},"looks":40,"changes":41,"errors":42,"thrashing":43}}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
