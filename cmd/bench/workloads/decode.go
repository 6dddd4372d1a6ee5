// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/metrics"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/freehold-go/freehold/cmd/bench"
)

// The cost of decoding JSON with different libraries, on the user's own documents. Each contestant
// is called as its users call it, with its default settings. The bound reads the tokens with
// jsontext and builds nothing: it is the cost of a decoder over jsontext that neither reflects nor
// allocates. Scanners with vector instructions may cost less.

// DecodeAlive is how many documents are alive at a time, and how many a round decodes.
const DecodeAlive = 4

// Decode is the Prepare of a contestant of the workload decode, or of decode/struct if typed. unmarshal decodes data into what v points
// to: an empty interface, or a struct, slice or map that is made for the document.
func Decode(unmarshal func(data []byte, v any) error, typed bool) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		data, newTarget, err := decodeInput(r.Input, typed)
		if err != nil {
			r.Fail(err)
			return func() uint64 { return 0 }
		}
		var alive [DecodeAlive]any
		first := true
		return func() (sum uint64) {
			for i := range alive {
				target := newTarget()
				if err := unmarshal(data, target); err != nil {
					r.Fail(fmt.Errorf("bench: decode: %w", err))
					return 0
				}
				alive[i] = target
			}
			r.Peak()
			if !first {
				return uint64(len(data))
			}
			// The round that warms up is not measured: it checks the decoded values in full.
			first = false
			return decodedSum(alive[0])
		}
	}
}

// decodeInput reads the document, and returns a function that makes targets for it.
func decodeInput(in bench.Input, typed bool) (data []byte, newTarget func() any, err error) {
	if data, err = readDocument(in); err != nil {
		return nil, nil, err
	}
	if !typed {
		return data, func() any { return new(any) }, nil
	}
	t, err := documentType(data)
	if err != nil {
		return nil, nil, fmt.Errorf("bench: decode: %w", err)
	}
	return data, func() any { return newOf(t) }, nil
}

// decodeTokens reads tokens. In the first round it computes the checksum of the values that the
// decoders must find.
func decodeTokens(r *bench.Run) func() uint64 {
	data, err := readDocument(r.Input)
	if err != nil {
		r.Fail(err)
		return func() uint64 { return 0 }
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(nil))
	first := true
	return func() (sum uint64) {
		if first {
			first = false
			decoder.Reset(bytes.NewBuffer(data))
			sum, err := tokenSum(decoder)
			if err != nil {
				r.Fail(fmt.Errorf("bench: decode: %w", err))
			}
			return sum
		}
		for range DecodeAlive {
			decoder.Reset(bytes.NewBuffer(data))
			if err := readTokens(decoder); err != nil {
				r.Fail(fmt.Errorf("bench: decode: %w", err))
				return 0
			}
		}
		return uint64(len(data))
	}
}

// readTokens reads to the end.
func readTokens(decoder *jsontext.Decoder) error {
	for {
		switch _, err := decoder.ReadToken(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// measureDecode adds two figures that matter for a choice between libraries, besides time and
// allocations: the collector's part of the time, and the speed.
func measureDecode(r *bench.Run, c *bench.Contestant) error {
	before := readCPUClasses()
	if err := r.Rounds(c); err != nil {
		return err
	}
	after := readCPUClasses()
	if busy := after.busy - before.busy; busy > 0 {
		r.Report("collector's_share", (after.gc-before.gc)/busy)
	}
	if s := r.Sample(); s.CPU > 0 && r.N > 0 {
		r.Report("per_CPU_second_bytes", float64(r.N)*s.Ops/s.CPU)
	}
	return nil
}

// cpuClasses are seconds that Ps were busy: in all, and collecting. Both are wall time and contain
// the time of other processes, so on a busy machine only their ratio means something.
type cpuClasses struct{ busy, gc float64 }

func readCPUClasses() cpuClasses {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	return cpuClasses{s[0].Value.Float64() - s[1].Value.Float64(), s[2].Value.Float64()}
}
