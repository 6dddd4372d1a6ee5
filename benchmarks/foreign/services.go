package main

// services are servers, under the load of a client in another process.
var services = []program{
	{
		name: "gin", module: "github.com/gin-gonic/gin", version: "v1.12.0", kind: service,
		does:  "serves a JSON API of 20,000 orders, with middleware for logs, panics, request IDs and tokens",
		right: []string{settings, "not-gc"},
		why:   "system calls have 26 % of the CPU and encoding/json 13 %, marking and sweeping 9 % with 9 MB alive, so GOGC=400 can save 7 % at most",
		harmful: []rejection{
			{"short-lived-objects", "arena", "headers and contexts belong to net/http, and a handler may keep the request"},
			{"long-lived-pointers", "", "marking all of the heap takes 6 % of the CPU, and the orders are 5 MB of it"},
			{"recycled-type", "sync.Pool", "gin has a pool of its contexts already, and the rest belongs to net/http"},
		},
	},
	{
		name: "etcd", module: "go.etcd.io/etcd/server/v3", version: "v3.7.3", kind: service,
		does:  "one server with the keyspace of a Kubernetes cluster: 20,000 keys, read, updated and listed",
		right: []string{settings, "large-stacks"},
		why:   "marking, assists and sweeping have 10 % of the CPU at seven collections a second of 20 MB, and the stacks of gRPC's goroutines, one for each call, grow for 7 %",
		harmful: []rejection{
			{"short-lived-objects", "arena", "gRPC sends the encoded answers later, in another goroutine"},
			{"long-lived-pointers", "", "the index of the keys has 2 MB, and the values are in bbolt's mapped file"},
		},
		applied: &change{what: "gRPC's goroutines stay", finding: "large-stacks"},
	},
	{
		name: "etcd-limit", driver: "etcd", module: "go.etcd.io/etcd/server/v3", version: "v3.7.3", kind: service,
		does:     "the same server as etcd under a memory limit that leaves the collector no room",
		env:      []string{"GOMEMLIMIT=" + tightLimit},
		settings: [][]string{{"GOMEMLIMIT=100MiB"}, {"GOMEMLIMIT=200MiB"}},
		right:    []string{settings, "limit-thrash"},
		why:      "the limit is near the live heap, and the collector runs all the time: with a limit of 200 MiB the CPU falls by 79 %",
		harmful: []rejection{
			{"long-lived-pointers", "", "a larger limit is one variable"},
			{"short-lived-objects", "", "a larger limit is one variable"},
		},
	},
	{
		name: "caddy", module: "github.com/caddyserver/caddy/v2", version: "v2.11.9", kind: service,
		does:  "serves a site of 150 static files, compressed where they are text, and an API behind a reverse proxy",
		right: []string{settings, "large-buffers"},
		why:   "system calls have 25 % of the CPU, zstd 20 % and the collector 7 % at 14 collections a second of 9 MB; io.Copy makes a buffer of 32 KiB for each file, half of all bytes, in Caddy's encoder",
		harmful: []rejection{
			{"short-lived-objects", "arena", "headers and contexts belong to net/http, and a handler may keep the request"},
			{"long-lived-pointers", "", "9 MB are alive, most of them buffers"},
		},
	},
	{
		name: "caddy-gogc10", driver: "caddy", module: "github.com/caddyserver/caddy/v2", version: "v2.11.9", kind: service,
		does:     "the same server as caddy with GOGC=10 in its environment",
		env:      []string{"GOGC=10"},
		settings: [][]string{{"GOGC=100"}, {"GOGC=200"}, {"GOGC=400"}},
		right:    []string{settings, "gc-too-often"},
		why:      "half of the CPU is the collector's, and GOGC=100 saves all of that for 10 MB",
		harmful: []rejection{
			{"short-lived-objects", "", "one variable saves half of the CPU"},
			{"long-lived-pointers", "", "one variable saves half of the CPU"},
		},
	},
	{
		name: "nats", module: "github.com/nats-io/nats-server/v2", version: "v2.15.2", kind: service,
		does:  "passes telemetry to subscribers, and keeps the latest 50,000 events in a stream in memory",
		right: []string{settings, "not-gc"},
		why:   "system calls have 23 % of the CPU, the parser and the delivery of messages most of the rest, the collector 8 % at two collections a second of 29 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "the read loop lives as long as its connection, and its messages go to the queues of other connections"},
			{"long-lived-pointers", "", "the stream's events are 28 MB of bytes, and all marking takes 6 % of the CPU"},
		},
	},
	{
		name: "coredns", module: "github.com/coredns/coredns", version: "v1.15.0", kind: service,
		does:  "answers queries over UDP from a zone of 20,000 names, and from a cache before a forwarder",
		right: []string{settings, "large-stacks"},
		why:   "the stack of the goroutine for each query grows, for 10 % of the CPU, and the collector has 9 % at three collections a second of 18 MB; GOGC=400 saves about 10 % for 50 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "the answers go into the cache"},
			{"long-lived-pointers", "", "the zone and the cache are 12 MB, and all marking takes 7 % of the CPU"},
		},
	},
}

// tightLimit is a limit just above what etcd keeps under its load.
const tightLimit = "50MiB"
