// Command calls measures the CPU time of a gRPC server for a call, with gRPC alone and with requests in arenas.
//
// The requests are traces of OpenTelemetry. Each server is a process of its own on the loopback device.
//
//	cd benchmarks && go run ./calls
//	cd benchmarks && go run ./calls -spans 1
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/freehold-go/freehold/benchmarks/protobuf"
	"github.com/freehold-go/freehold/cmd/bench/usage"
)

const childVariable = "FREEHOLD_CALLS_SERVER"

func main() {
	runChild()
	spans := flag.Int("spans", 100, "the number of spans in a request")
	calls := flag.Int("calls", 2000, "the number of calls in a pass")
	passes := flag.Int("passes", 5, "the number of passes, in which the servers take turns; medians count")
	flag.Parse()
	if err := compare(os.Stdout, *spans, *calls, *passes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runChild serves, and ends the process, if this process is a server.
func runChild() {
	way, err := strconv.Atoi(os.Getenv(childVariable))
	if err != nil {
		return
	}
	if err := serve(ways[way].new(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve prints the server's address, and the CPU time so far, in nanoseconds, for each line of input. It ends with the input.
func serve(server *grpc.Server, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go server.Serve(l)
	defer server.Stop()
	fmt.Fprintln(out, l.Addr())
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fmt.Fprintln(out, usage.CPU().Nanoseconds())
	}
	return lines.Err()
}

// compare prints a line for each way: the median of the server's CPU time for a call, and the median of its ratios to gRPC
// alone. The servers take turns: what slows the machine for a while slows all of them, and a ratio is of one turn.
func compare(out io.Writer, spans, calls, passes int) error {
	costs, ratios := make([][]float64, len(ways)), make([][]float64, len(ways))
	for range passes {
		var plain float64
		for i, w := range ways {
			ns, err := measure(i, spans, calls)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if i == 0 {
				plain = ns
			}
			costs[i], ratios[i] = append(costs[i], ns/1e3), append(ratios[i], ns/plain)
		}
	}
	for i, w := range ways {
		slices.Sort(costs[i])
		slices.Sort(ratios[i])
		last := passes - 1
		fmt.Fprintf(out, "%-28s %8.1f µs a call (%.1f to %.1f), %.2f of gRPC alone (%.2f to %.2f)\n", w.name,
			costs[i][passes/2], costs[i][0], costs[i][last], ratios[i][passes/2], ratios[i][0], ratios[i][last])
	}
	return nil
}

// measure starts a server, calls it, and returns its CPU nanoseconds for a call.
func measure(way, spans, calls int) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), childVariable+"="+strconv.Itoa(way)), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer cmd.Wait()
	defer in.Close()
	lines := bufio.NewReader(pipe)
	address, err := lines.ReadString('\n')
	if err != nil {
		return 0, err
	}
	cpu := func() (float64, error) {
		fmt.Fprintln(in)
		line, err := lines.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.ParseFloat(strings.TrimSpace(line), 64)
	}
	conn, err := grpc.NewClient(strings.TrimSpace(address), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	client, request := collector.NewTraceServiceClient(conn), &collector.ExportTraceServiceRequest{ResourceSpans: protobuf.Traces(spans).ResourceSpans}
	call := func(n int) error {
		for range n {
			if _, err := client.Export(context.Background(), request); err != nil {
				return err
			}
		}
		return nil
	}
	if err := call(1 + calls/10); err != nil {
		return 0, err
	}
	before, err := cpu()
	if err != nil {
		return 0, err
	}
	if err := call(calls); err != nil {
		return 0, err
	}
	after, err := cpu()
	return (after - before) / float64(calls), err
}
