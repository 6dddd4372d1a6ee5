// Command starlark routes the alerts of a monitoring system by a script that its users write in
// Starlark: the script is compiled once, and its function is called with each alert.
package main

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// script is what the users write.
const script = `
TEAMS = {
    "db": {"name": "storage", "channel": "#storage", "hours": [8, 20]},
    "api": {"name": "edge", "channel": "#edge", "hours": [0, 24]},
    "batch": {"name": "data", "channel": "#data", "hours": [9, 17]},
}

SEVERITIES = ["info", "warning", "error", "critical"]

def labels(alert):
    out = {}
    for pair in alert["labels"].split(","):
        key, value = pair.split("=")
        out[key.strip().lower()] = value.strip()
    return out

def severity(alert, found):
    level = SEVERITIES.index(alert["severity"])
    if found.get("env") != "prod":
        level = max(level - 1, 0)
    for word in ["timeout", "panic", "disk full", "out of memory"]:
        if word in alert["summary"].lower():
            level = min(level + 1, len(SEVERITIES) - 1)
    return level

def route(alert):
    found = labels(alert)
    team = TEAMS.get(found.get("tier", "api"), TEAMS["api"])
    level = severity(alert, found)
    targets = [team["channel"]]
    if level >= 2 and team["hours"][0] <= alert["hour"] and alert["hour"] < team["hours"][1]:
        targets.append("pager:" + team["name"])
    if level == 3:
        targets += ["phone:%s-%d" % (team["name"], i) for i in range(3)]
    recent = [v for v in alert["values"] if v > alert["threshold"]]
    text = "%s: %s (%d of %d values above %s)" % (SEVERITIES[level], alert["summary"], len(recent), len(alert["values"]), alert["threshold"])
    fields = sorted(["%s=%s" % (k, v) for k, v in found.items() if not k.startswith("_")])
    return {"targets": targets, "text": text, "fields": fields, "group": "/".join([found.get("env", "?"), team["name"], found.get("service", "?")])}
`

// router calls the script's function.
type router struct {
	route  starlark.Value
	byTeam map[string]int // decisions by group
}

func newRouter() (*router, error) {
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, &starlark.Thread{Name: "load"}, "route.star", script, nil)
	if err != nil {
		return nil, err
	}
	globals.Freeze()
	return &router{globals["route"], map[string]int{}}, nil
}

// alert is an event of the monitoring system.
type alert struct {
	severity, summary, labels string
	hour                      int
	threshold                 float64
	values                    []float64
}

// value makes the script's argument.
func (a *alert) value() *starlark.Dict {
	values := make([]starlark.Value, len(a.values))
	for i, v := range a.values {
		values[i] = starlark.Float(v)
	}
	d := starlark.NewDict(6)
	for _, field := range []struct {
		name  string
		value starlark.Value
	}{
		{"severity", starlark.String(a.severity)}, {"summary", starlark.String(a.summary)}, {"labels", starlark.String(a.labels)},
		{"hour", starlark.MakeInt(a.hour)}, {"threshold", starlark.Float(a.threshold)}, {"values", starlark.NewList(values)},
	} {
		if err := d.SetKey(starlark.String(field.name), field.value); err != nil {
			panic(err)
		}
	}
	return d
}

func (r *router) handle(a *alert) error {
	thread := &starlark.Thread{Name: "alert"}
	result, err := starlark.Call(thread, r.route, starlark.Tuple{a.value()}, nil)
	if err != nil {
		return err
	}
	group, found, err := result.(*starlark.Dict).Get(starlark.String("group"))
	if err != nil || !found {
		return fmt.Errorf("no group: %w", err)
	}
	name, _ := starlark.AsString(group)
	r.byTeam[name]++
	return nil
}

func main() {
	load.Main(load.Sample{Ops: 40_000, Before: before})
}

func before() load.Op {
	r, err := newRouter()
	if err != nil {
		panic(err)
	}
	alerts := make([]*alert, 1000)
	for i := range alerts {
		alerts[i] = newAlert(i)
	}
	return func(i int) {
		if err := r.handle(alerts[i%len(alerts)]); err != nil {
			panic(err)
		}
	}
}

func newAlert(n int) *alert {
	a := &alert{
		severity: []string{"info", "warning", "error", "critical"}[n%4],
		summary:  fmt.Sprintf("Host h%d: %s", n, []string{"Timeout of requests", "load is high", "disk full", "queue grows"}[n/4%4]),
		labels:   fmt.Sprintf("Env=%s, tier=%s, service=s%d, host=h%d, _id=%d", []string{"prod", "stage"}[n%2], []string{"db", "api", "batch", "web"}[n/2%4], n%60, n, n),
		hour:     n % 24, threshold: float64(n%50) + 0.5,
	}
	for k := range 12 {
		a.values = append(a.values, float64((n+k*7)%80))
	}
	return a
}
