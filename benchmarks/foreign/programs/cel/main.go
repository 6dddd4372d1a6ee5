// Command cel checks objects against rules in CEL, as Kubernetes' admission policies do: it reads
// an object from JSON, and evaluates each of thirty rules on it.
//
// The rules are compiled once, as the module's documents say.
//
// The form after the change makes the programs with cel.OptOptimize, which computes constant
// parts, among them regular expressions and lists for the operator in, when the program is made.
package main

import (
	"encoding/json"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// rules are those that clusters have: each is true for a good object.
var rules = []string{
	`object.kind == "Deployment"`,
	`has(object.metadata.labels) && "app" in object.metadata.labels`,
	`object.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')`,
	`size(object.metadata.name) <= 63`,
	`object.spec.replicas >= 1 && object.spec.replicas <= 50`,
	`object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))`,
	`object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))`,
	`object.spec.template.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits)`,
	`object.spec.template.spec.containers.all(c, has(c.resources.requests) && 'cpu' in c.resources.requests)`,
	`object.spec.template.spec.containers.all(c, !has(c.securityContext) || !c.securityContext.privileged)`,
	`object.spec.template.spec.containers.all(c, c.ports.all(p, p.containerPort > 1024 && p.protocol in ['TCP', 'UDP']))`,
	`object.spec.template.spec.containers.exists(c, c.name == object.metadata.labels.app)`,
	`object.spec.template.spec.containers.map(c, c.name).all(n, n.matches('^[a-z][a-z0-9-]+$'))`,
	`!has(object.spec.template.spec.hostNetwork) || !object.spec.template.spec.hostNetwork`,
	`object.metadata.namespace in ['prod', 'staging', 'dev', 'tools', 'batch', 'data']`,
	`object.spec.selector.matchLabels.all(k, k in object.spec.template.metadata.labels && object.spec.template.metadata.labels[k] == object.spec.selector.matchLabels[k])`,
	`object.metadata.labels.all(k, size(k) <= 63 && size(object.metadata.labels[k]) <= 63)`,
	`!has(object.metadata.annotations) || object.metadata.annotations.all(k, !k.startsWith('internal.example.com/'))`,
	`object.spec.template.spec.containers.all(c, c.env.all(e, e.name.matches('^[A-Z][A-Z0-9_]*$')))`,
	`object.spec.template.spec.containers.all(c, c.env.filter(e, e.name.contains('SECRET')).all(e, has(e.valueFrom)))`,
	`object.spec.template.spec.containers.all(c, size(c.env) < 40)`,
	`user.name.startsWith('system:') || user.groups.exists(g, g in ['deployers', 'admins', 'sre'])`,
	`object.metadata.namespace != 'prod' || user.groups.exists(g, g == 'admins' || g == 'sre' || g == 'deployers')`,
	`object.metadata.namespace != 'prod' || object.spec.replicas >= 2`,
	`object.spec.strategy.type == 'RollingUpdate' ? has(object.spec.strategy.rollingUpdate) : true`,
	`object.spec.template.spec.containers.all(c, has(c.readinessProbe) && c.readinessProbe.periodSeconds >= 5)`,
	`object.spec.template.spec.volumes.all(v, !has(v.hostPath))`,
	`object.metadata.annotations['cost-center'].matches('^[0-9]{4,6}$')`,
	`(object.metadata.namespace + '/' + object.metadata.name).lowerAscii() == object.metadata.namespace + '/' + object.metadata.name`,
	`object.spec.template.spec.containers.map(c, c.resources.limits.memory).all(m, m.matches('^[0-9]+(Mi|Gi)$'))`,
}

// requests are objects as the API server gets them.
func requests() [][]byte {
	all := make([][]byte, 200)
	for i := range all {
		var containers []any
		for j := range 1 + i%3 {
			var env []any
			for k := range 4 + i%6 {
				env = append(env, map[string]any{"name": fmt.Sprintf("APP_OPTION_%d", k), "value": fmt.Sprint(i * k)})
			}
			name := fmt.Sprintf("app-%d", i)
			if j > 0 {
				name = fmt.Sprintf("sidecar-%d", j)
			}
			containers = append(containers, map[string]any{
				"name": name, "image": fmt.Sprintf("registry.example.com/team/%s:v1.%d.%d", name, i, j), "env": env,
				"ports":           []any{map[string]any{"containerPort": 8080 + j, "protocol": "TCP", "name": "http"}},
				"resources":       map[string]any{"limits": map[string]any{"memory": "512Mi", "cpu": "1"}, "requests": map[string]any{"memory": "256Mi", "cpu": "100m"}},
				"securityContext": map[string]any{"privileged": false, "runAsNonRoot": true},
				"readinessProbe":  map[string]any{"httpGet": map[string]any{"path": "/ready", "port": 8080}, "periodSeconds": 10},
				"livenessProbe":   map[string]any{"httpGet": map[string]any{"path": "/live", "port": 8080}, "periodSeconds": 20},
			})
		}
		labels := map[string]any{"app": fmt.Sprintf("app-%d", i), "team": fmt.Sprintf("team-%d", i%20), "tier": "backend"}
		text, err := json.Marshal(map[string]any{
			"user": map[string]any{"name": fmt.Sprintf("user-%d", i), "groups": []any{"developers", "deployers", "everyone"}},
			"object": map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment",
				"metadata": map[string]any{"name": fmt.Sprintf("app-%d", i), "namespace": "prod", "labels": labels,
					"annotations": map[string]any{"cost-center": fmt.Sprint(4000 + i), "owner": "team@example.com", "commit": fmt.Sprintf("%040x", i)}},
				"spec": map[string]any{"replicas": 2 + i%5, "selector": map[string]any{"matchLabels": map[string]any{"app": labels["app"]}},
					"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": 0}},
					"template": map[string]any{"metadata": map[string]any{"labels": labels},
						"spec": map[string]any{"containers": containers, "volumes": []any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}}}}}},
			},
		})
		if err != nil {
			panic(err)
		}
		all[i] = text
	}
	return all
}

func setup(options ...cel.ProgramOption) load.Op {
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("user", cel.DynType), ext.Strings())
	if err != nil {
		panic(err)
	}
	var programs []cel.Program
	for _, rule := range rules {
		ast, issues := env.Compile(rule)
		if issues.Err() != nil {
			panic(issues.Err())
		}
		p, err := env.Program(ast, options...)
		if err != nil {
			panic(err)
		}
		programs = append(programs, p)
	}
	texts := requests()
	return func(i int) {
		var request map[string]any
		if err := json.Unmarshal(texts[i%len(texts)], &request); err != nil {
			panic(err)
		}
		for n, p := range programs {
			value, _, err := p.Eval(request)
			if err != nil {
				panic(err)
			}
			if value.Value() != true {
				panic(fmt.Sprintf("request %d breaks rule %d: %s", i, n, rules[n]))
			}
		}
	}
}

func before() load.Op { return setup() }
func after() load.Op  { return setup(cel.EvalOptions(cel.OptOptimize)) }

func main() { load.Main(load.Sample{Ops: 6_000, Before: before, After: after}) }
