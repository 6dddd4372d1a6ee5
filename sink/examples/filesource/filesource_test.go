// SPDX-License-Identifier: Apache-2.0

package filesource_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/freehold-go/freehold/sink/examples/filesource"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
	"github.com/freehold-go/freehold/sink/source/sourcetest"
)

// TestConformance is all that a source written elsewhere needs to know that the sink can use it.
func TestConformance(t *testing.T) {
	sourcetest.Suite{Open: open, Alone: true, Values: true}.Run(t)
}

// log is a directory.
type log string

func open(t *testing.T, partitions int) sourcetest.Log {
	dir := log(t.TempDir())
	for n := range int32(partitions) {
		dir.Write(t, n, nil)
	}
	return dir
}

func (l log) Topic() string { return filepath.Base(string(l)) }

func (l log) Member(*testing.T) source.Source { return filesource.New(string(l)) }

func (l log) Write(t *testing.T, partition int32, records []record.Record) {
	f, err := os.OpenFile(filepath.Join(string(l), fmt.Sprint(partition, ".log")), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, r := range records {
		if _, err := fmt.Fprintf(f, "%s\n", r.Value); err != nil {
			t.Fatal(err)
		}
	}
}
