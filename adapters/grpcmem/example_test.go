// SPDX-License-Identifier: Apache-2.0

package grpcmem_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/freehold-go/freehold/adapters/grpcmem"
	"github.com/freehold-go/freehold/offheap"
)

func Example() {
	network := offheap.NewPurpose("network")
	network.SetLimit(256 << 20) // Beyond it buffers come from the Go heap.
	pool := grpcmem.NewPool(grpcmem.Options{Purpose: network})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := grpc.NewServer(experimental.BufferPool(pool))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go server.Serve(listener)
	defer server.Stop()

	client, err := grpc.NewClient(listener.Addr().String(), experimental.WithBufferPool(pool),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	answer, err := grpc_health_v1.NewHealthClient(client).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(answer.GetStatus(), err)
	// Output: SERVING <nil>
}
