// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"path/filepath"
	"strings"

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
