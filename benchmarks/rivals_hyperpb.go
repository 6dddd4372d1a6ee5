//go:build (amd64 || arm64) && !go1.28

package main

import (
	"buf.build/go/hyperpb"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/messages"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

// hyperpb decodes into messages of its own, which are read by reflection and not by fields. It reuses
// its memory, message by message. Its options for a profile of the input and for parts of the input are not used.

const hyperpbName = "hyperpb"

func init() {
	for _, t := range workloads.ProtoTasks() {
		set.Add(t.Name,
			t.Contestant(hyperpbName, "its memory is reused; messages are read by reflection", func(*bench.Run) messages.Decoder {
				return hyperpbDecoder(hyperpb.CompileMessageDescriptor(t.New().ProtoReflect().Descriptor()))
			}, nil))
	}
}

func hyperpbDecoder(kind *hyperpb.MessageType) messages.Decoder {
	var shared [messages.Alive]hyperpb.Shared
	var used [messages.Alive]bool
	return func(slot int, b []byte) (any, error) {
		if used[slot] {
			shared[slot].Free()
		}
		used[slot] = true
		m := shared[slot].NewMessage(kind)
		return m, m.Unmarshal(b)
	}
}
