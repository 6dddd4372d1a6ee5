// SPDX-License-Identifier: Apache-2.0

// Package otlpvt has the messages of OpenTelemetry's traces with vtprotobuf's methods UnmarshalVT.
//
// The module go.opentelemetry.io/proto/otlp does not have these methods. The messages are in a package of Protocol Buffers of
// their own, because a program can register a name once.
package otlpvt

//go:generate go run generate.go
