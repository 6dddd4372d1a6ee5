// Command expfmt-scrapes parses metrics in Prometheus's text format and keeps the last scrape of
// each of some targets, with GOGC=off and a memory limit that is hardly more than what it keeps.
//
// The change is one of the environment: a limit that leaves room.
package main

import (
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const targets = 400

func main() {
	load.Main(load.Sample{Ops: 2_000, Before: scraping})
}

func scraping() load.Op {
	last := make([]map[string]*dto.MetricFamily, targets)
	text := exposition()
	scrape := func(i int) {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			panic(err)
		}
		last[i%targets] = families
	}
	for i := range targets {
		scrape(i)
	}
	return scrape
}

func exposition() string {
	var b strings.Builder
	for m := range 20 {
		fmt.Fprintf(&b, "# HELP requests_%d Requests.\n# TYPE requests_%d counter\n", m, m)
		for code := range 20 {
			fmt.Fprintf(&b, "requests_%d{code=\"%d\",method=\"get\",handler=\"/api/v1/%d\"} %d\n", m, 200+code, m, m*code)
		}
	}
	return b.String()
}
