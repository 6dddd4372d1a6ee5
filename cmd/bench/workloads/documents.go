// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/bench"
)

// The documents of the workloads json and decode: the user's files, or else the corpus with which
// the Go distribution tests its JSON packages, or without a Go distribution a small document that
// the command contains.

//go:embed sample.json
var sampleDocument []byte

// sampleName is the name of the document that the command contains.
const sampleName = "sample"

// corpusPath is where the Go distribution has its corpus, below GOROOT.
const corpusPath = "src/encoding/json/internal/jsontest/testdata/*.json*"

// Documents of the corpus: those with much structure, those that are mostly long strings, and those
// of the quick selection.
var (
	structuredDocuments = []string{"canada_geometry", "citm_catalog", "golang_source", "synthea_fhir", "twitter_status"}
	stringDocuments     = []string{"string_escaped", "string_unicode"}
	quickDocuments      = []string{"twitter_status", "canada_geometry", "string_escaped"}
)

// StructuredDocuments are those of the corpus with much structure.
func StructuredDocuments() []string { return slices.Clone(structuredDocuments) }

const documentsName = "docs"

// documentsFlag is the pattern of the files that json and decode read.
var documentsFlag = bench.Flag{
	Flag: &cli.StringFlag{Name: documentsName, Usage: "let json and decode read the files that match `GLOB`, .zst and .gz too, in place of the Go distribution's"},
	Read: func(c *cli.Command, o *bench.Options) error {
		o.Flags[documentsName] = c.String(documentsName)
		return nil
	},
}

// documents lists the inputs of json. Files that the user named are all read, whatever the selection.
func documents(o *bench.Options) ([]bench.Input, error) {
	if pattern := o.Flags[documentsName]; pattern != "" {
		return bench.InputFiles(pattern, func(string) bool { return true })
	}
	for _, root := range goRoots() {
		corpus := filepath.Join(root, filepath.FromSlash(corpusPath))
		if files, err := filepath.Glob(corpus); err == nil && len(files) > 0 {
			return bench.InputFiles(corpus, func(name string) bool { return slices.Contains(quickDocuments, name) })
		}
	}
	return []bench.Input{{Name: sampleName, Bytes: len(sampleDocument), Quick: true}}, nil
}

// goRoots are the places where a Go distribution may be. The go command is asked last, because it has to be started.
func goRoots() []string {
	if root := os.Getenv("GOROOT"); root != "" {
		return []string{root}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil
	}
	return []string{strings.TrimSpace(string(out))}
}

// readDocument reads an input.
func readDocument(in bench.Input) ([]byte, error) {
	if in.File == "" {
		return sampleDocument, nil
	}
	return in.Read()
}
