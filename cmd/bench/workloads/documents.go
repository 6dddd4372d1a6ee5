// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
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
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("bench: -docs %q: %w", pattern, err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("bench: -docs %q matches no file", pattern)
		}
		return inputsOf(files, func(string) bool { return true })
	}
	for _, root := range goRoots() {
		if files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(corpusPath))); err == nil && len(files) > 0 {
			return inputsOf(files, func(name string) bool { return slices.Contains(quickDocuments, name) })
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

// inputsOf reads each file once, so that one that cannot be read is found before anything is measured.
func inputsOf(files []string, quick func(name string) bool) ([]bench.Input, error) {
	var inputs []bench.Input
	names := map[string]int{}
	for _, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("bench: -docs: %w", err)
		}
		in := bench.Input{Name: bench.InputName(file), File: file}
		data, err := readDocument(in)
		if err != nil {
			return nil, err
		}
		in.Bytes, in.Quick = len(data), quick(in.Name)
		if names[in.Name]++; names[in.Name] > 1 {
			in.Name = fmt.Sprintf("%s (%d)", in.Name, names[in.Name])
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// readDocument reads an input, and decompresses it by the ending of its name.
func readDocument(in bench.Input) ([]byte, error) {
	if in.File == "" {
		return sampleDocument, nil
	}
	data, err := os.ReadFile(in.File)
	if err == nil {
		data, err = decompress(data, filepath.Ext(in.File))
	}
	if err != nil {
		return nil, fmt.Errorf("bench: read a document: %w", err)
	}
	return data, nil
}

func decompress(data []byte, ending string) ([]byte, error) {
	var r io.Reader
	switch ending {
	case ".zst":
		decoder, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer decoder.Close()
		r = decoder
	case ".gz":
		decoder, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		r = decoder
	default:
		return data, nil
	}
	return io.ReadAll(r)
}
