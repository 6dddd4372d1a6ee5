// Command prometheus serves the query API of Prometheus, as its main does, over a store with the
// samples of the last hour of 6000 series in memory.
//
// The client asks what dashboards and alerts ask: rates, sums, quantiles and instant values.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/grafana/regexp"
	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	api "github.com/prometheus/prometheus/web/api/v1"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	from     = 1_767_225_600 // seconds
	interval = 15
	samples  = 240 // an hour
	to       = from + samples*interval
)

// fill scrapes 40 instances of a service: a counter for each of 10 handlers and 4 codes, a
// histogram of 10 buckets for each handler, and 10 gauges.
func fill(db *tsdb.DB) error {
	type series struct {
		labels labels.Labels
		ref    uint64
		rate   float64
	}
	var all []series
	add := func(rate float64, pairs ...string) {
		all = append(all, series{labels: labels.FromStrings(pairs...), rate: rate})
	}
	buckets := []string{"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "+Inf"}
	for i := range 40 {
		instance, job, zone := fmt.Sprintf("10.0.%d.%d:9100", i/10, i), fmt.Sprintf("service-%d", i%4), fmt.Sprintf("zone-%d", i%3)
		for h := range 10 {
			handler := fmt.Sprintf("/api/v1/handler%d", h)
			for c, code := range []string{"200", "400", "404", "500"} {
				add(float64(1+h)/float64(1+9*c), "__name__", "http_requests_total", "job", job, "instance", instance, "zone", zone, "handler", handler, "code", code)
			}
			for b, le := range buckets {
				add(float64(1+h)*float64(b+1)/10, "__name__", "http_request_duration_seconds_bucket", "job", job, "instance", instance, "zone", zone, "handler", handler, "le", le)
			}
		}
		for g := range 10 {
			add(0, "__name__", fmt.Sprintf("node_gauge_%d", g), "job", job, "instance", instance, "zone", zone)
		}
	}
	values := make([]float64, len(all))
	for s := range samples {
		a := db.Appender(context.Background())
		at := int64(from+s*interval) * 1000
		for i := range all {
			v := &all[i]
			values[i] += v.rate * interval
			if v.rate == 0 {
				values[i] = float64((i*s)%1000) / 10
			}
			ref, err := a.Append(storage.SeriesRef(v.ref), v.labels, at, values[i])
			if err != nil {
				return err
			}
			v.ref = uint64(ref)
		}
		if err := a.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func start(bool) (load.Server, error) {
	dir, err := os.MkdirTemp("", "prometheus")
	if err != nil {
		return load.Server{}, err
	}
	options := tsdb.DefaultOptions()
	db, err := tsdb.Open(dir, nil, client.NewRegistry(), options, nil)
	if err != nil {
		return load.Server{}, err
	}
	if err := fill(db); err != nil {
		return load.Server{}, err
	}
	logger := slog.New(slog.DiscardHandler)
	tracker := promql.NewActiveQueryTracker(dir, 20, logger)
	engine := promql.NewEngine(promql.EngineOpts{
		Logger: logger, Reg: client.NewRegistry(), MaxSamples: 50_000_000, Timeout: 2 * time.Minute, ActiveQueryTracker: tracker,
		LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 },
	})
	v1 := api.NewAPI(engine, db, nil, nil, db,
		func(context.Context) api.ScrapePoolsRetriever { return nil },
		func(context.Context) api.TargetRetriever { return none{} },
		func(context.Context) api.AlertmanagerRetriever { return nil },
		func() config.Config { return config.DefaultConfig }, nil, api.GlobalURLOptions{},
		func(f http.HandlerFunc) http.HandlerFunc { return f },
		nil, dir, false, logger,
		func(context.Context) api.RulesRetriever { return none{} },
		50_000_000, 10, 1<<20, false, regexp.MustCompile("^$"),
		func() (api.RuntimeInfo, error) { return api.RuntimeInfo{}, errors.New("none") }, &api.PrometheusVersion{}, nil, nil,
		client.NewRegistry(), client.NewRegistry(), nil, false, nil, false, false, false, false, 5*time.Minute, false, false, nil, nil,
		api.OpenAPIOptions{})
	router := route.New()
	v1.Register(router.WithPrefix("/api/v1"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, router)
	return load.Server{Address: l.Addr().String(), Stop: func() {
		l.Close()
		db.Close()
		os.RemoveAll(dir)
	}}, nil
}

// none has no targets and no rules.
type none struct{}

func (none) TargetsActive() map[string][]*scrape.Target            { return nil }
func (none) TargetsDropped() map[string][]*scrape.Target           { return nil }
func (none) TargetsDroppedCounts() map[string]int                  { return nil }
func (none) ScrapePoolConfig(string) (*config.ScrapeConfig, error) { return nil, errors.New("none") }
func (none) RuleGroups() []*rules.Group                            { return nil }
func (none) AlertingRules() []*rules.AlertingRule                  { return nil }

// queries are ranges of an hour, as a dashboard's panels ask; those of instants stand apart.
var ranges = []string{
	`sum by (job) (rate(http_requests_total[5m]))`,
	`sum by (handler) (rate(http_requests_total{code=~"5.."}[5m])) / sum by (handler) (rate(http_requests_total[5m]))`,
	`histogram_quantile(0.99, sum by (le, job) (rate(http_request_duration_seconds_bucket{job="service-%d"}[5m])))`,
	`topk(5, sum by (instance) (rate(http_requests_total{job="service-%d"}[2m])))`,
	`max by (zone) (node_gauge_3)`,
	`avg_over_time(node_gauge_7{job="service-%d"}[10m])`,
}

var instants = []string{
	`sum by (job) (rate(http_requests_total{code="500"}[5m])) > 1`,
	`node_gauge_%d > 90`,
	`count by (zone) (http_requests_total)`,
	`absent(up{job="service-%d"})`,
}

func dial(address string, connection int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		values, path := url.Values{}, "query"
		if i%2 == 0 {
			q := ranges[i/2%len(ranges)]
			path = "query_range"
			values.Set("query", withService(q, i))
			values.Set("start", fmt.Sprint(from+600))
			values.Set("end", fmt.Sprint(to))
			values.Set("step", "30")
		} else {
			values.Set("query", withService(instants[i/2%len(instants)], i))
			values.Set("time", fmt.Sprint(to-i%1800))
		}
		answer, err := client.Get("http://" + address + "/api/v1/" + path + "?" + values.Encode())
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK || !strings.HasPrefix(string(text), `{"status":"success"`) {
			return fmt.Errorf("%s: %s", answer.Status, text)
		}
		return nil
	}, nil
}

// withService puts the number of a service into a query.
func withService(query string, i int) string {
	if strings.Contains(query, "%d") {
		return fmt.Sprintf(query, i/20%4)
	}
	return query
}

func main() { load.Serve(load.Service{Ops: 150, Connections: 4, Start: start, Dial: dial}) }
