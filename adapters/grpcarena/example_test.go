// SPDX-License-Identifier: Apache-2.0

package grpcarena_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/freehold-go/freehold/adapters/grpcarena"
	"github.com/freehold-go/freehold/arena"
)

// checker is gRPC's health service.
type checker struct {
	grpc_health_v1.UnimplementedHealthServer
}

// Check makes its reply in the call's arena, which ends when gRPC has written the reply.
func (checker) Check(ctx context.Context, q *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	a := arena.FromContext(ctx)
	reply := arena.New[grpc_health_v1.HealthCheckResponse](a)
	reply.Status = grpc_health_v1.HealthCheckResponse_SERVING
	return reply, nil
}

func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := grpc.NewServer(grpc.StatsHandler(grpcarena.Handler(grpcarena.Options{
		Limit: 64 << 20, // The bound of one call's arena.
	})))
	grpc_health_v1.RegisterHealthServer(server, checker{}) // Its method Check calls arena.FromContext.
	go server.Serve(listener)
	defer server.Stop()

	fmt.Println(ask(listener.Addr().String()))
	// Output: SERVING <nil>
}

// ask calls the service.
func ask(address string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	client, err := grpc.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	answer, err := grpc_health_v1.NewHealthClient(client).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	return answer.GetStatus(), err
}
