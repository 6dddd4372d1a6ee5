package main

import (
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/benchmarks/internal/otlpvt"
	"github.com/freehold-go/freehold/benchmarks/protobuf"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/messages"
)

// vtprotobuf's methods for OpenTelemetry's messages are generated into package otlpvt. Its messages are not
// those of proto.Unmarshal, but have the same fields.

func init() {
	set.AddBars("proto/otlp", bench.AtMost("proto/otlp, "+messages.Arena+" by "+messages.VTProto, 0.13,
		bench.TimeRatio("proto/otlp", 0, messages.Arena, messages.VTProto)))
	for _, t := range protobuf.Tasks() {
		switch t.Name {
		case "proto/otlp":
			set.Add(t.Name, vtContestant[otlpvt.TracesData](t))
		case "proto/span":
			set.Add(t.Name, vtContestant[otlpvt.Span](t))
		}
	}
}

func vtContestant[M any, P interface {
	*M
	proto.Message
	UnmarshalVT(b []byte) error
}](t messages.Task) bench.Contestant {
	return t.Contestant(messages.VTProto, "the method UnmarshalVT that protoc-gen-go-vtproto generated, without its pools", func(*bench.Run) messages.Decoder {
		return func(_ int, b []byte) (any, error) {
			m := P(new(M))
			return m, m.UnmarshalVT(b)
		}
	}, nil)
}
