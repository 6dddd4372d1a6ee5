package main

import (
	"context"
	"errors"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/adapters/grpcarena"
)

// service counts the attributes of spans, so that it reads what was decoded.
type service struct {
	collector.UnimplementedTraceServiceServer
}

func (service) Export(_ context.Context, q *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	attributes := 0
	for _, r := range q.ResourceSpans {
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				for _, a := range span.Attributes {
					if a.Key == "http.request.method" && a.Value.GetStringValue() == "GET" {
						attributes++
					}
				}
			}
		}
	}
	if attributes == 0 {
		return nil, errors.New("no span has a method")
	}
	return new(collector.ExportTraceServiceResponse), nil
}

// newServer is quoted in docs/adapters.md.
func newServer(s collector.TraceServiceServer, o grpcarena.Options) *grpc.Server {
	server := grpc.NewServer(grpc.StatsHandler(grpcarena.Handler(o)))
	collector.RegisterTraceServiceServer(grpcarena.Registrar(server, arenaproto.Into), s)
	return server
}

// ways are the servers that are compared.
var ways = []struct {
	name string
	new  func() *grpc.Server
}{
	{"gRPC", func() *grpc.Server {
		server := grpc.NewServer()
		collector.RegisterTraceServiceServer(server, service{})
		return server
	}},
	{"grpcarena, Handler alone", func() *grpc.Server {
		server := grpc.NewServer(grpc.StatsHandler(grpcarena.Handler(grpcarena.Options{})))
		collector.RegisterTraceServiceServer(server, service{})
		return server
	}},
	{"grpcarena, Registrar", func() *grpc.Server { return newServer(service{}, grpcarena.Options{}) }},
	{"grpcarena, Registrar, Reuse", func() *grpc.Server { return newServer(service{}, grpcarena.Options{Reuse: true}) }},
	{"Registrar without Handler", func() *grpc.Server {
		server := grpc.NewServer()
		collector.RegisterTraceServiceServer(grpcarena.Registrar(server, arenaproto.Into), service{})
		return server
	}},
}
