// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/freehold-go/freehold/sink/config"
)

func deployed(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkDashboard looks for the dashboard's metrics among those that a service serves.
func checkDashboard(t *testing.T, metrics string) {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(deployed(t, "grafana.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`\b(freehold|go|process)_\w+`).FindAllString(target.Expr, -1) {
				names++
				if !strings.Contains(metrics, "\n"+name+"{") && !strings.Contains(metrics, "\n"+name+" ") {
					t.Errorf("the dashboard asks for %s, which is not served", name)
				}
			}
		}
	}
	if names < 20 {
		t.Errorf("the dashboard asks for %d metrics", names)
	}
}

// TestKubernetes: the example has a configuration that is valid with its variables, and leaves time to stop.
func TestKubernetes(t *testing.T) {
	type object struct {
		Kind string
		Data map[string]string
		Spec struct {
			Template struct {
				Spec struct {
					Grace      int64 `yaml:"terminationGracePeriodSeconds"`
					Containers []struct {
						Args []string
						Env  []struct{ Name, Value string }
					}
				}
			}
		}
	}
	var text string
	var set object
	for d := yaml.NewDecoder(bytes.NewReader(deployed(t, "kubernetes.yaml"))); ; {
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch o.Kind {
		case "ConfigMap":
			text = o.Data["sink.yaml"]
		case "StatefulSet":
			set = o
		}
	}
	if len(set.Spec.Template.Spec.Containers) != 1 {
		t.Fatal("no container")
	}
	container := set.Spec.Template.Spec.Containers[0]
	var environ []string
	for _, e := range container.Env {
		environ = append(environ, e.Name+"="+e.Value)
	}
	c, err := config.Parse([]byte(text), environ)
	if err != nil {
		t.Fatal(err)
	}
	if err := Describe(t.Context(), io.Discard, c, false); err != nil {
		t.Error(err)
	}
	if grace := time.Duration(set.Spec.Template.Spec.Grace) * time.Second; grace <= time.Duration(c.Stop.Timeout) {
		t.Errorf("it is killed after %v, and stopping may take %v", grace, c.Stop.Timeout)
	}
}
