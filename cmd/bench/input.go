// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// An Input is a file that a workload works on, if its rows differ by input and not by size.
type Input struct {
	// Name identifies the input in the report.
	Name string `json:"name"`
	// File is its path, or empty for the document that the command contains.
	File string `json:"file,omitempty"`
	// Bytes is its size, decoded.
	Bytes int `json:"bytes"`
	// Quick keeps the input in the quick selection.
	Quick bool `json:"-"`
}

// InputName is the short name of a file: without folders and endings.
func InputName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return cmp.Or(name, filepath.Base(file))
}

// InputFiles lists the files that match a pattern, the value of a flag -docs. It reads each file once, so that one that
// cannot be read is found before anything is measured. A file whose name satisfies quick is in the quick selection.
func InputFiles(pattern string, quick func(name string) bool) ([]Input, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("bench: -docs %q: %w", pattern, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("bench: -docs %q matches no file", pattern)
	}
	var inputs []Input
	names := map[string]int{}
	for _, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("bench: -docs: %w", err)
		}
		in := Input{Name: InputName(file), File: file}
		data, err := in.Read()
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

// Read reads the file of an input, and decompresses it by the ending of its name, .gz or .zst.
func (in Input) Read() ([]byte, error) {
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

// A Place is one size, or one input with its size, at which all contestants of a workload run.
type Place struct {
	N     int
	Input Input
}

// Places returns the sizes or inputs at which w runs under the options, and whether in the shape of
// the quick selection.
func (w *Workload) Places(o *Options) (places []Place, quick bool, err error) {
	quick = !o.Full
	if w.Inputs != nil {
		inputs, err := w.Inputs(o)
		for _, in := range inputs {
			if !quick || in.Quick {
				places = append(places, Place{in.Bytes, in})
			}
		}
		return places, quick, err
	}
	sizes := w.Full
	if quick {
		sizes = w.Quick
	}
	if s, ok := o.Sizes[w.Name]; ok {
		sizes, quick = s, false
	}
	for _, n := range sizes {
		places = append(places, Place{N: n})
	}
	return places, quick, nil
}

// PlaceText names a place: the input, or the size.
func (w *Workload) PlaceText(n int, input string) string {
	if input == "" {
		return w.sizeText(n)
	}
	return input + ", " + terminal.Bytes(float64(n))
}
