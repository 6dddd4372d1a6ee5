// SPDX-License-Identifier: Apache-2.0

package otelstats

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/gctune"
	"github.com/freehold-go/freehold/offheap"
)

// A source is a registration with a reader that collects from it.
type source struct {
	reader       sdk.Reader
	provider     metric.MeterProvider
	registration metric.Registration
}

func register(t testing.TB) source {
	t.Helper()
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	r, err := Register(provider)
	if err != nil {
		t.Fatal(err)
	}
	return source{reader, provider, r}
}

// metrics are those of a collection.
func (s source) metrics(t testing.TB) (list []metricdata.Metrics) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all.ScopeMetrics {
		if m.Scope.Name != scope {
			t.Errorf("scope %q", m.Scope.Name)
		}
		list = append(list, m.Metrics...)
	}
	return list
}

// gather is the value of each metric by name and attribute, as in `freehold.mode{mode="heap"}`.
func (s source) gather(t testing.TB) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, m := range s.metrics(t) {
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			add(values, m.Name, d.DataPoints)
		case metricdata.Gauge[int64]:
			add(values, m.Name, d.DataPoints)
		case metricdata.Gauge[float64]:
			add(values, m.Name, d.DataPoints)
		default:
			t.Errorf("%s has %T", m.Name, d)
		}
	}
	return values
}

func add[N int64 | float64](values map[string]float64, name string, points []metricdata.DataPoint[N]) {
	for _, p := range points {
		key := name
		for _, a := range p.Attributes.ToSlice() {
			key += "{" + string(a.Key) + `="` + a.Value.AsString() + `"}`
		}
		values[key] = float64(p.Value)
	}
}

// TestValues: each figure follows what the program does.
func TestValues(t *testing.T) {
	source := register(t)
	p := offheap.NewPurpose("telemetry")
	before := source.gather(t)
	b := p.Alloc(10 << 20)
	p.SetLimit(1 << 30)
	old := offheap.SetLimit(1 << 40)
	a, o := arena.NewArena(), arena.NewOffHeap(arena.Options{Purpose: p})
	arena.MakeSlice[int64](a, 1<<17, 1<<17)
	arena.MakeSlice[int64](o, 1<<18, 1<<18)
	after := source.gather(t)
	rise := func(name string, least, most float64) {
		t.Helper()
		if d := after[name] - before[name]; d < least || d > most {
			t.Errorf("%s rose by %.0f, want %.0f to %.0f", name, d, least, most)
		}
	}
	const mib = 1 << 20
	if !freehold.Modes().Heap && !race { // Else Go counts these bytes.
		rise(`freehold.in_use{package="offheap"}`, 12*mib, 16*mib)
		if r, used := after[`freehold.reserved{package="offheap"}`], after[`freehold.in_use{package="offheap"}`]; r < used {
			t.Errorf("%.0f bytes are reserved and %.0f in use", r, used)
		}
	}
	if !freehold.Modes().Heap { // Else arenas do not tell where values lie.
		rise(`freehold.purpose.in_use{purpose="telemetry"}`, 12*mib, 16*mib)
		rise(`freehold.arena.held{memory="offheap"}`, 2*mib, 4*mib)
		rise(`freehold.arena.held{memory="go"}`, 1*mib, 2*mib)
	}
	rise(`freehold.purpose.held{purpose="telemetry"}`, 10*mib, 16*mib)
	rise(`freehold.purpose.limit{purpose="telemetry"}`, 1<<30, 1<<30)
	rise(`freehold.offheap.held`, 10*mib, 18*mib)
	rise(`freehold.offheap.limit`, 1<<40, 1<<40)
	rise(`freehold.arenas`, 2, 2)
	a.Free()
	o.Free()
	offheap.Free(b)
	p.SetLimit(0)
	offheap.SetLimit(old)
	after = source.gather(t)
	rise(`freehold.arenas`, 0, 0)
	rise(`freehold.purpose.in_use{purpose="telemetry"}`, 0, 0)
	for _, name := range []string{"freehold.offheap.limit", `freehold.purpose.limit{purpose="telemetry"}`, "freehold.go_memory_limit"} {
		if v, ok := after[name]; ok {
			t.Errorf("%s is %.0f where there is no limit", name, v)
		}
	}
	for word, on := range freehold.Modes().Words() {
		if v, ok := after[`freehold.mode{mode="`+word+`"}`]; !ok || (v == 1) != on {
			t.Errorf("the mode %s is %v (%v), want %v", word, v, ok, on)
		}
	}
}

// prometheusName is the name that OpenTelemetry's exporters give a metric in Prometheus.
func prometheusName(m metricdata.Metrics) string {
	name := strings.ReplaceAll(m.Name, ".", "_") + map[string]string{"By": "_bytes", "%": "_percent", "1": "_ratio", "s": "_seconds"}[m.Unit]
	if s, ok := m.Data.(metricdata.Sum[int64]); ok && s.IsMonotonic {
		name += "_total"
	}
	return name
}

// TestNames: in Prometheus the metrics have the names that promstats gives them, and the
// documentation lists them all. Limits and a tuner are set for it.
func TestNames(t *testing.T) {
	code, err := os.ReadFile("../promstats/collector.go")
	if err != nil {
		t.Skip("no promstats beside this module") // Alone, as a dependency of another module.
	}
	tuner, err := os.ReadFile("../promstats/gctune.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("register.go")
	if err != nil {
		t.Fatal(err)
	}
	caches, err := os.ReadFile("../promstats/cache.go")
	if err != nil {
		t.Fatal(err)
	}
	ownCaches, err := os.ReadFile("cache.go")
	if err != nil {
		t.Fatal(err)
	}
	own = append(own, ownCaches...)
	defer offheap.SetLimit(offheap.SetLimit(1 << 40))
	p := offheap.NewPurpose("names")
	defer p.SetLimit(p.SetLimit(1 << 30))
	defer tune(t)()
	var got []string
	source := register(t)
	if _, err := RegisterCache(source.provider, newCache(t, "names"), ""); err != nil {
		t.Fatal(err)
	}
	for _, m := range source.metrics(t) {
		got = append(got, prometheusName(m))
		if m.Description == "" || !regexp.MustCompile(`//\t`+regexp.QuoteMeta(m.Name)+`[{ ]`).Match(own) {
			t.Errorf("%s: description %q, or not in the documentation", m.Name, m.Description)
		}
	}
	// Absent where nothing sets them.
	got = append(got, "freehold_go_memory_limit_bytes", "freehold_gctune_wanted_bytes", "freehold_gctune_pressure_percent")
	var want []string
	for _, d := range regexp.MustCompile(`= desc\("(\w+)"`).FindAllSubmatch(slices.Concat(code, tuner), -1) {
		want = append(want, "freehold_"+string(d[1]))
	}
	for _, d := range regexp.MustCompile(`= desc\("(\w+)"`).FindAllSubmatch(caches, -1) {
		want = append(want, "freehold_cache_"+string(d[1]))
	}
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// tune starts a tuner and returns the function that ends it.
func tune(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	tuner, err := gctune.Start(ctx, gctune.Options{
		Interval: -1, Limit: func() (int64, error) { return 1 << 40, nil }, Other: func() int64 { return 1 << 38 }, KeepGOGC: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() { cancel(); <-tuner.Done() }
}

func TestTuner(t *testing.T) {
	source := register(t)
	for name := range source.gather(t) {
		if strings.HasPrefix(name, "freehold.gctune.") {
			t.Errorf("%s although no tuner runs", name)
		}
	}
	defer tune(t)()
	s, ok := gctune.ReadStats()
	if !ok {
		t.Fatal("no tuner runs")
	}
	values := source.gather(t)
	for name, want := range map[string]float64{
		"freehold.gctune.total":                    1 << 40,
		"freehold.gctune.other":                    1 << 38,
		"freehold.gctune.headroom":                 float64(s.Headroom),
		"freehold.gctune.squeezed":                 float64(s.Squeezed),
		"freehold.gctune.limit":                    float64(s.Limit),
		"freehold.gctune.room":                     float64(s.Room),
		"freehold.gctune.runtime":                  float64(s.Runtime),
		"freehold.gctune.live":                     float64(s.Live),
		"freehold.gctune.gogc":                     float64(s.GOGC),
		"freehold.gctune.gc_cpu":                   s.GCShare,
		`freehold.gctune.state{state="ample"}`:     1,
		`freehold.gctune.state{state="thrashing"}`: 0,
		"freehold.gctune.looks":                    1,
		"freehold.gctune.errors":                   0,
		"freehold.gctune.thrashing_looks":          0,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %g (%v), want %g", name, got, ok, want)
		}
	}
}

// TestInvalidNames: a name that exporters would refuse must not cost all other figures.
func TestInvalidNames(t *testing.T) {
	offheap.NewPurpose("bad \xff name")
	offheap.NewPurpose("bad \xfe name")
	var names []string
	for name := range register(t).gather(t) {
		if strings.Contains(name, "bad") && strings.HasPrefix(name, "freehold.purpose.held") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	want := []string{`freehold.purpose.held{purpose=""bad \xfe name""}`, `freehold.purpose.held{purpose=""bad \xff name""}`}
	if !slices.Equal(names, want) {
		t.Errorf("purposes %q, want %q", names, want)
	}
}

func TestUnregister(t *testing.T) {
	source := register(t)
	if len(source.gather(t)) == 0 {
		t.Fatal("no metrics")
	}
	if err := source.registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if values := source.gather(t); len(values) > 0 {
		t.Errorf("after Unregister: %v", values)
	}
}

// refusing is a provider whose meter makes no instruments.
type refusing struct{ metric.MeterProvider }

type refusingMeter struct{ metric.Meter }

var errRefused = errors.New("refused")

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

func (refusingMeter) Int64ObservableUpDownCounter(string, ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return nil, errRefused
}

func (refusingMeter) Int64ObservableGauge(string, ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return nil, errRefused
}

func (refusingMeter) Float64ObservableGauge(string, ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return nil, errRefused
}

func (refusingMeter) Int64ObservableCounter(string, ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return nil, errRefused
}

func TestErrors(t *testing.T) {
	if _, err := Register(nil); err == nil || !strings.Contains(err.Error(), "GetMeterProvider") {
		t.Errorf("no provider: %v", err)
	}
	if _, err := Register(refusing{}); !errors.Is(err, errRefused) {
		t.Errorf("a provider that refuses: %v", err)
	}
	if _, err := RegisterCache(nil, newCache(t, ""), "a"); err == nil || !strings.Contains(err.Error(), "RegisterCache") {
		t.Errorf("no provider: %v", err)
	}
	if _, err := RegisterCache(refusing{}, newCache(t, ""), "a"); !errors.Is(err, errRefused) {
		t.Errorf("a provider that refuses: %v", err)
	}
	if _, err := RegisterCache(sdk.NewMeterProvider(), nil, "a"); err == nil {
		t.Error("no cache, and no error")
	}
}
