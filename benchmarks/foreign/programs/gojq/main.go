// Command gojq reshapes a stream of log events with a jq filter, as a log shipper does: it parses
// a line of JSON, runs the query on it, and writes the results as JSON.
//
// It parses the query once and calls Query.Run for each event, as the example in the module's
// README does.
//
// The form after the change compiles the query once too, and calls Code.Run.
package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/itchyny/gojq"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const filter = `
select(.level != "debug")
| {
    time: .ts,
    service: .kubernetes.labels.app,
    host: (.kubernetes.host // "unknown"),
    severity: (if .level == "error" or .level == "fatal" then "high" elif .level == "warn" then "medium" else "low" end),
    message: (.msg | ascii_downcase),
    path: (.http.url | split("?")[0]),
    slow: (.http.duration_ms > 250),
    tags: [.tags[] | select(startswith("team:") or startswith("env:")) | split(":") | {key: .[0], value: .[1]}] | from_entries
  }
| with_entries(select(.value != null))
`

var levels = []string{"info", "info", "info", "warn", "debug", "error"}

// events are lines as a shipper reads them; the stream repeats them.
func events() [][]byte {
	lines := make([][]byte, 2000)
	for i := range lines {
		lines[i] = fmt.Appendf(nil, `{"ts":"2026-03-%02dT%02d:%02d:%02d.%03dZ","level":%q,"msg":"Request %d Finished for tenant-%d",`+
			`"http":{"method":"GET","url":"/api/v1/accounts/%d/orders?page=%d","status":%d,"duration_ms":%d,"bytes":%d},`+
			`"kubernetes":{"namespace":"prod","pod":"orders-%d","host":"node-%d","labels":{"app":"orders","version":"v%d","tier":"backend"}},`+
			`"tags":["team:payments","env:prod","region:eu-%d","sampled"],"trace":"%016x%016x"}`,
			1+i%28, i%24, i%60, i*7%60, i%1000, levels[i%len(levels)], i, i%50, i*37%10000, i%9, 200+i%5, i*13%400, i*91%90000,
			i%40, i%12, i%6, i%3, uint64(i)*0x9e3779b97f4a7c15, uint64(i)*0xbf58476d1ce4e5b9)
	}
	return lines
}

// run reshapes one line with a query that was parsed, or parsed and compiled.
func run(line []byte, query func(v any) gojq.Iter) {
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		panic(err)
	}
	results := query(v)
	for {
		v, ok := results.Next()
		if !ok {
			return
		}
		if err, ok := v.(error); ok {
			panic(err)
		}
		out, err := gojq.Marshal(v)
		if err != nil {
			panic(err)
		}
		io.Discard.Write(append(out, '\n'))
	}
}

func before() load.Op {
	lines := events()
	query, err := gojq.Parse(filter)
	if err != nil {
		panic(err)
	}
	return func(i int) {
		run(lines[i%len(lines)], func(v any) gojq.Iter { return query.Run(v) })
	}
}

func after() load.Op {
	lines := events()
	query, err := gojq.Parse(filter)
	if err != nil {
		panic(err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		panic(err)
	}
	return func(i int) {
		run(lines[i%len(lines)], func(v any) gojq.Iter { return code.Run(v) })
	}
}

func main() { load.Main(load.Sample{Ops: 15_000, Before: before, After: after}) }
