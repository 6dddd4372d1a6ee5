// SPDX-License-Identifier: Apache-2.0

package memprof

import (
	"fmt"
	"io"

	"github.com/freehold-go/freehold/offheap"
)

// DefaultPeriod is the period after the package is imported: 2 MiB.
const DefaultPeriod = 2 << 20

func init() { offheap.SetSamplePeriod(DefaultPeriod) }

// SetPeriod sets the average number of bytes allocated between two samples, and returns the old
// period, as offheap.SetSamplePeriod does. 0 means no samples. It panics if bytes is negative.
func SetPeriod(bytes int64) (old int64) {
	if bytes < 0 {
		panic(fmt.Errorf("memprof: SetPeriod: negative period %d; 0 switches sampling off", bytes))
	}
	return offheap.SetSamplePeriod(bytes)
}

// Period is the period in force, 0 if nothing is sampled.
func Period() int64 { return offheap.SetSamplePeriod(-1) }

// WriteTo writes the profile. With debug 0 it writes the compressed format that `go tool pprof`
// reads, otherwise text for people. It returns the error of w.
func WriteTo(w io.Writer, debug int) error {
	if debug != 0 {
		return wrap(writeText(w, estimates()))
	}
	return wrap(build(estimates()).Write(w))
}

// WriteMerged writes one profile of all memory, in the compressed format: this profile, and Go's
// own heap profile, whose samples have the label memory=goheap. Both have the same four figures.
// Go's figures are as of the end of its last collection. WriteMerged returns the error of w.
func WriteMerged(w io.Writer) error {
	p, err := merged()
	if err != nil {
		return err
	}
	return wrap(p.Write(w))
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("memprof: write the profile: %w", err)
	}
	return nil
}
