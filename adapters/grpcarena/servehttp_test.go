// SPDX-License-Identifier: Apache-2.0

package grpcarena

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/freehold-go/freehold/arena"
)

// TestServeHTTP: by ServeHTTP, gRPC reports no header that SetHeader set, and net/http keeps it for
// later calls. The header must not show another call's text.
func TestServeHTTP(t *testing.T) {
	server := grpc.NewServer(grpc.StatsHandler(Handler(Options{Reuse: true, Pool: &arena.Pool{Arenas: 1}})))
	server.RegisterService(&description, &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		a := arena.FromContext(ctx)
		if err := grpc.SetHeader(ctx, metadata.Pairs("x-text", arena.Concat(a, text, "!"))); err != nil {
			t.Error(err)
		}
		if strings.Contains(text, "7") {
			return nil, status.Error(codes.Aborted, "seven")
		}
		return reply(a, text), nil
	}})
	s := httptest.NewUnstartedServer(server)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	client, err := grpc.Dial(s.Listener.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range 300 {
		text := strings.Repeat(fmt.Sprintf("%03d.", i%50), 10)
		var header metadata.MD
		if _, err := call(t.Context(), client, text, grpc.Header(&header)); err != nil && status.Code(err) != codes.Aborted {
			t.Fatal(err)
		}
		if got := header.Get("x-text"); len(got) != 1 || got[0] != text+"!" {
			t.Fatalf("call %d: the header of %s is %q", i, text, got)
		}
	}
}

// TestCompressor: gRPC encodes the name of the compressor after the call, as it does metadata.
func TestCompressor(t *testing.T) {
	if !owns() {
		t.Skip("values do not lie in arenas with the kill switch")
	}
	h := Handler(Options{})
	for name, want := range map[string]bool{"arena": false, "heap": true} {
		ctx := h.TagRPC(t.Context(), &stats.RPCTagInfo{})
		a := arena.FromContext(ctx)
		used, compressor := tenantOf(a), "gzip"
		if name == "arena" {
			compressor = arena.String(a, compressor)
		}
		h.HandleRPC(ctx, &stats.OutHeader{Compression: compressor})
		h.HandleRPC(ctx, &stats.End{})
		if got := used.over(); got != want {
			t.Errorf("with a compressor's name in the %s the arena ended: %v", name, got)
		}
	}
}
