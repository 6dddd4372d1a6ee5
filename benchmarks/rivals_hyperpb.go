//go:build (amd64 || arm64) && !go1.28

package main

import (
	"buf.build/go/hyperpb"

	"github.com/freehold-go/freehold/benchmarks/protobuf"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/messages"
)

// hyperpb decodes into messages of its own, which are read by reflection and not by fields. It reuses
// its memory, message by message: once by its defaults, and once with the options that make it faster.

const (
	hyperpbName = "hyperpb"
	hyperpbAll  = "hyperpb, profile, alias"
)

func init() {
	for _, l := range []struct {
		workload, ours, theirs string
		limit                  float64
	}{
		{"proto/otlp", messages.Arena, hyperpbName, 0.55}, {"proto/otlp", messages.ArenaAlias, hyperpbAll, 0.85}, {"proto/read", messages.Arena, hyperpbAll, 0.33},
		{"proto/lines", messages.Arena, hyperpbName, 1}, {"proto/floats", messages.Arena, hyperpbName, 1},
		{"proto/records", messages.Arena, hyperpbName, 1}, {"proto/updates", messages.Arena, hyperpbName, 1},
	} {
		set.AddBars(l.workload, bench.AtMost(l.workload+", "+l.ours+" by "+l.theirs, l.limit, bench.TimeRatio(l.workload, 0, l.ours, l.theirs)))
	}
	for _, t := range protobuf.Tasks() {
		set.Add(t.Name,
			t.Contestant(hyperpbName, "its memory is reused; messages are read by reflection", func(*bench.Run) messages.Decoder {
				return hyperpbDecoder(hyperpb.CompileMessageDescriptor(t.New().ProtoReflect().Descriptor()))
			}, nil))
		if !hyperpbErrs[t.Name] {
			set.Add(t.Name, t.Contestant(hyperpbAll, "the same, compiled again with a profile of the input; strings are parts of the input", func(*bench.Run) messages.Decoder {
				return hyperpbProfiled(hyperpb.CompileMessageDescriptor(t.New().ProtoReflect().Descriptor()))
			}, nil))
		}
	}
}

// hyperpbErrs are the workloads whose messages hyperpb 0.1.3 decodes into others if it was compiled with a profile of them.
var hyperpbErrs = map[string]bool{"proto/pprof": true, "proto/descriptors": true, "proto/records": true}

// hyperpbProfiled notes a profile of the first input, and decodes with a type that was compiled for it.
func hyperpbProfiled(kind *hyperpb.MessageType) messages.Decoder {
	var decode messages.Decoder
	return func(slot int, b []byte) (any, error) {
		if decode == nil {
			profile := kind.NewProfile()
			for range 8 {
				if err := hyperpb.NewMessage(kind).Unmarshal(b, hyperpb.WithRecordProfile(profile, 1)); err != nil {
					return nil, err
				}
			}
			decode = hyperpbDecoder(kind.Recompile(profile), hyperpb.WithAllowAlias(true))
		}
		return decode(slot, b)
	}
}

func hyperpbDecoder(kind *hyperpb.MessageType, o ...hyperpb.UnmarshalOption) messages.Decoder {
	var shared [messages.Alive]hyperpb.Shared
	var used [messages.Alive]bool
	return func(slot int, b []byte) (any, error) {
		if used[slot] {
			shared[slot].Free()
		}
		used[slot] = true
		m := shared[slot].NewMessage(kind)
		return m, m.Unmarshal(b, o...)
	}
}
