// Command go-yaml decodes the manifests of a cluster with goccy/go-yaml, as a controller does that
// watches a repository of configuration.
//
// It keeps the latest version of each manifest.
package main

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// manifests is how many services the repository has.
const manifests = 400

type deployment struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		Replicas int `yaml:"replicas"`
		Template struct {
			Metadata metadata `yaml:"metadata"`
			Spec     struct {
				Containers []container      `yaml:"containers"`
				Volumes    []map[string]any `yaml:"volumes"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type metadata struct {
	Name        string            `yaml:"name"`
	Namespace   string            `yaml:"namespace"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type container struct {
	Name      string                       `yaml:"name"`
	Image     string                       `yaml:"image"`
	Args      []string                     `yaml:"args"`
	Env       []variable                   `yaml:"env"`
	Ports     []port                       `yaml:"ports"`
	Resources map[string]map[string]string `yaml:"resources"`
}

type variable struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

type port struct {
	Name string `yaml:"name"`
	Port int    `yaml:"containerPort"`
}

func main() {
	load.Main(load.Sample{Ops: 3_000, Before: before})
}

func before() load.Op {
	texts := make([][]byte, manifests)
	for i := range texts {
		texts[i] = []byte(manifest(i))
	}
	latest := map[string]*deployment{}
	return func(i int) {
		var d deployment
		if err := yaml.Unmarshal(texts[i%manifests], &d); err != nil {
			panic(err)
		}
		latest[d.Metadata.Name] = &d
	}
}

// manifest is one of about 100 lines.
func manifest(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-%[1]d
  namespace: team-%[2]d
  labels: {app: service-%[1]d, tier: backend, release: "2026-%02[2]d"}
  annotations:
    owner: "team-%[2]d@example.com"
    description: |
      Orders of region %[2]d.
      It talks to the ledger.
spec:
  replicas: %[3]d
  template:
    metadata:
      labels: {app: service-%[1]d}
    spec:
      containers:
`, n, n%17, n%5+1)
	for c := range 2 {
		fmt.Fprintf(&b, `      - name: main-%[1]d
        image: registry.example.com/service-%[2]d:v1.%[2]d.%[1]d
        args: ["--listen=:8080", "--log-level=info", '--name=service-%[2]d']
        ports:
        - name: http
          containerPort: 8080
        - name: metrics
          containerPort: 9090
        resources:
          requests: {cpu: 250m, memory: 512Mi}
          limits: {cpu: "1", memory: 1Gi}
        env:
`, c, n)
		for v := range 12 {
			fmt.Fprintf(&b, "        - name: SETTING_%d\n          value: \"value %d of service-%d\"\n", v, v, n)
		}
	}
	b.WriteString("      volumes:\n      - {name: cache, emptyDir: {}}\n      - name: config\n        configMap: {name: settings, optional: true}\n")
	return b.String()
}
