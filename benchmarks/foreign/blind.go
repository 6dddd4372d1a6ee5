package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
)

// printGains writes what the kept runs measured, one form a line. The doctor does not run.
func printGains(w io.Writer, o options) error {
	for _, p := range selected(o.run) {
		var k kept
		if err := proof.ReadJSON(filepath.Join(o.keep, p.name, runsFile), &k); err != nil {
			return err
		}
		for _, f := range p.forms()[1:] {
			if r, ok := k.compare(f.name); ok {
				fmt.Fprintf(w, "%s\t%s\t%.1f %% (%.1f to %.1f)\t%s -> %s\t%d rounds\n", p.name, f.name, 100*r.measured, 100*r.low, 100*r.high, mib(r.base), mib(r.rss), len(k.Forms[f.name]))
			}
		}
	}
	return nil
}
