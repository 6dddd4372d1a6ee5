package memprof

import (
	"fmt"
	"io"

	"github.com/freehold-go/freehold/internal/allocsample"
)

// DefaultPeriod is the period that holds once the package is imported: 2 MiB.
const DefaultPeriod = 2 << 20

func init() { allocsample.SetPeriod(DefaultPeriod) }

// SetPeriod sets how many bytes are allocated between samples on average, 0 for no samples at all, and returns the period before. A
// period of 1 samples each block. It takes effect at once, but for an offheap.Local, which looks when it samples a block, when it needs more
// blocks, and every 65536 allocations of a size. Blocks sampled before count with the period that they were sampled with. SetPeriod stops the
// world for some microseconds. It panics if bytes is negative.
func SetPeriod(bytes int64) (old int64) {
	if bytes < 0 {
		panic(fmt.Errorf("memprof: SetPeriod: negative period %d; 0 switches sampling off", bytes))
	}
	return allocsample.SetPeriod(bytes)
}

// Period is the period that is in force, 0 if nothing is sampled.
func Period() int64 { return allocsample.Period() }

// WriteTo writes the profile: with debug 0 in the compressed format that `go tool pprof` reads, otherwise as text for people. It returns
// the error of w.
func WriteTo(w io.Writer, debug int) error {
	if debug != 0 {
		return writeText(w, estimates())
	}
	return wrap(build(estimates()).Write(w))
}

// WriteMerged writes one profile of all memory, in the compressed format: this one and Go's own heap profile, which has samples
// with the label memory=goheap. Both have the same four figures. Go's is as of the end of its last collection. It returns the error of w.
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
