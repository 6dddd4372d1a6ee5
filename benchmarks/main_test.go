package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/freehold-go/freehold/benchmarks/examples"
	"github.com/freehold-go/freehold/cmd/bench"
)

// The children of the tests are this binary.
func TestMain(m *testing.M) {
	set.RunChild()
	os.Exit(m.Run())
}

// TestRivals runs every rival once, beside the Go heap, and relies on the harness to compare what
// they computed.
func TestRivals(t *testing.T) {
	var out bytes.Buffer
	command := set.Command()
	command.Writer, command.ErrWriter = &out, io.Discard
	err := command.Run(t.Context(), []string{
		"benchmarks", "-json", "-count", "1", "-mintime", "1ms", "-run", "^(list|pair|churn|handoff|objects|decode|proto)$",
		"-contestants", "^Go heap$|cgo|modernc|ristretto|nuke|^encoding/json$|^json/v2$|sonic|goccy|^proto.Unmarshal$|hyperpb|vtprotobuf",
	})
	if err != nil {
		t.Error(err)
	}
	measured := map[string]bool{}
	for dec := json.NewDecoder(&out); dec.More(); {
		var row bench.Row
		if err := dec.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if row.Error != "" {
			t.Errorf("%s, %s: %s", row.Workload, row.Contestant, row.Error)
		}
		measured[row.Contestant] = measured[row.Contestant] || row.Passes > 0
	}
	for _, name := range []string{"Go heap", "modernc + mutex", zAllocatorName, "nuke", "encoding/json", "json/v2", "sonic", "sonic, ConfigStd", "goccy/go-json", "hyperpb", "vtprotobuf"} {
		if !measured[name] {
			t.Errorf("%s was not measured: %v", name, measured)
		}
	}
}

// TestExamples runs each example once in both ways. The harness compares what they computed.
func TestExamples(t *testing.T) {
	var out bytes.Buffer
	command := set.Command()
	command.Writer, command.ErrWriter = &out, io.Discard
	if err := command.Run(t.Context(), []string{"benchmarks", "-json", "-count", "1", "-mintime", "1ms", "-run", "^examples$"}); err != nil {
		t.Error(err)
	}
	measured := 0
	for dec := json.NewDecoder(&out); dec.More(); {
		var row bench.Row
		if err := dec.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if row.Error != "" || row.Passes != 1 {
			t.Errorf("%s, %s: %d passes, %s", row.Workload, row.Contestant, row.Passes, row.Error)
		}
		measured++
	}
	if want := 2 * len(examples.Workloads()); measured < want {
		t.Errorf("%d rows, want %d", measured, want)
	}
}
