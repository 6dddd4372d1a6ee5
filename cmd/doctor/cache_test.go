// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// cacheText is a program with maps that live long, and the controls: a slice and a map that do the
// same work. Its patterns come from requests, and the control's is a constant.
const cacheText = `package shop

import "regexp"

type page struct{ name, body string }

type server struct {
	pages map[string]*page
	list  []*page
	sizes map[string]int
}

func (s *server) keep(name string) {
	s.pages[name] = &page{name: name} // keep
}

func (s *server) add(name string) {
	s.list = append(s.list, &page{name: name}) // add
}

func (s *server) measure(name string) {
	s.sizes[name] = len(name) // measure
}

func count(words []string) int {
	m := map[string]int{}
	for i, w := range words {
		m[w] = i // count
	}
	return len(m)
}

func match(pattern, name string) bool {
	return regexp.MustCompile(pattern).MatchString(name) // match
}

func matchSame(name string) bool {
	return regexp.MustCompile("^/u/[0-9]+$").MatchString(name) // same
}
`

// TestCacheOffers: findings about a map that lives long, and about setups whose input differs, name
// package cache. The controls do not. The rest of the remedy is the same, and so is the finding.
func TestCacheOffers(t *testing.T) {
	t.Setenv("GOWORK", "off")
	longLived := func(mark string) func(*fake) {
		return func(f *fake) {
			f.Ran("example.com/shop.work;main.main", 500)
			f.Collector(300, 20)
			f.Made("example.com/shop.(*server)."+mark+"#"+mark+";main.main", 64, 0, 2_000_000)
			f.Made("main.garbage;main.main", 128, 8_000_000, 0)
		}
	}
	growing := func(in string, kept int64) func(*fake) {
		return func(f *fake) {
			f.Ran("internal/runtime/maps.(*table).rehash;runtime.mapassign_faststr;"+in+";main.main", 30)
			f.Ran("runtime.mallocgc;internal/runtime/maps.(*table).rehash;runtime.mapassign_faststr;"+in+";main.main", 10)
			f.Ran("main.work;main.main", 60)
			f.Made(in+";main.main", 4096, 2000, kept)
		}
	}
	setup := func(in string) func(*fake) {
		return func(f *fake) {
			f.Ran("regexp.compile;regexp.MustCompile;"+in+";main.main", 40)
			f.Ran("main.work;main.main", 60)
			f.Made("regexp.compile;regexp.MustCompile;"+in+";main.main", 512, 10_000, 0)
		}
	}
	metrics := map[string]float64{evidence.MetricLiveHeap: 128e6, evidence.MetricScanHeap: 128e6, evidence.MetricHeapInUse: 128e6, evidence.MetricScanStack: 1e5, evidence.MetricCyclesTotal: 8}
	offer := regexp.MustCompile(` If (\S+ is a cache|the inputs come from outside), [^.]*cache\.[^.]*\(docs/cache\.md\)\.$`)
	for _, c := range []struct {
		name, id      string
		fits, control func(*fake)
		metrics       map[string]float64
		about         string
	}{
		{"a map with pointers", longLivedID, longLived("keep"), longLived("add"), metrics, "s.pages is a cache"},
		{"a map that stays", "growing-map", growing("example.com/shop.(*server).measure#measure", 1500), growing("example.com/shop.count#count", 0), map[string]float64{evidence.MetricCyclesTotal: 8}, "s.sizes is a cache"},
		{"patterns of requests", "repeated-setup", setup("example.com/shop.match#match"), setup("example.com/shop.matchSame#same"), nil, "the inputs come from outside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fits, control := sortFinding(t, c.id, cacheText, c.fits, c.metrics), sortFinding(t, c.id, cacheText, c.control, c.metrics)
			m := offer.FindStringSubmatch(fits.Remedy.Text)
			if m == nil || m[1] != c.about {
				t.Errorf("it fits: %s", fits.Remedy.Text)
			} else if rest := strings.TrimSuffix(fits.Remedy.Text, m[0]); control.Remedy.Text != rest {
				t.Errorf("the control: %s\nwant: %s", control.Remedy.Text, rest)
			}
			if fits.Gain != control.Gain || fits.Severity != control.Severity {
				t.Errorf("more than the remedy differs:\n%+v\n%+v", fits, control)
			}
		})
	}
}

// TestCacheProgram diagnoses the real profiles of a program with a map of pointers, a map that grows,
// and patterns from requests, and a control beside each. Only the remedies of the first three name
// package cache. testdata/kept-pages/source.txtar has the program, and the command that made the
// profiles.
func TestCacheProgram(t *testing.T) {
	t.Setenv("GOWORK", "off")
	archive, err := txtar.ParseFile("testdata/kept-pages/source.txtar")
	if err != nil {
		t.Fatal(err)
	}
	e := keptEvidence(t, "kept-pages", files...)
	e.Main, e.Root = "example.com/pages", t.TempDir()
	profiletest.Unpack(t, archive, e.Root)
	offers := map[string]bool{}
	for _, f := range diagnosePatiently(e).Findings {
		switch f.ID {
		case longLivedID, "growing-map", "repeated-setup":
			offers[f.ID+" "+filepath.Base(f.Owner.File)] = strings.HasSuffix(f.Remedy.Text, "(docs/cache.md).")
		}
	}
	want := map[string]bool{
		"long-lived-pointers keep.go": true, "long-lived-pointers keep_control.go": false,
		"growing-map count.go": true, "growing-map count_control.go": false,
		"repeated-setup match.go": true, "repeated-setup match_control.go": false,
	}
	if !maps.Equal(offers, want) {
		t.Errorf("remedies that name package cache: %v, want %v", offers, want)
	}
}
