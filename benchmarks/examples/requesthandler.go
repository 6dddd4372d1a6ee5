package examples

import (
	"net/http"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/examples/requesthandler/orders"
	"github.com/freehold-go/freehold/httparena"
)

func handlerWorkloads() []bench.Workload {
	inArena := func(o httparena.Options) prepare {
		return handler(httparena.Middleware(o)(http.HandlerFunc(orders.InArena)))
	}
	contestants := twins("maps and strings.Builder", handler(http.HandlerFunc(orders.Plain)),
		"Map and Builder in the request's arena; the next request gets its memory", inArena(httparena.Options{Reuse: true}))
	return []bench.Workload{{
		Name:  "examples/requesthandler",
		Doc:   "Call an HTTP handler that adds up 200 orders of a request by customer. Network and server are not included.",
		Op:    "request",
		Size:  "requests",
		Quick: []int{50},
		Full:  []int{500},
		Ops:   func(n int) int { return n },
		Contestants: append(contestants,
			bench.Contestant{Name: Name + ", no reuse", Note: "the collector gets the arena's memory", Prepare: inArena(httparena.Options{}), Own: true},
			bench.Contestant{Name: Name + ", no middleware", Note: "the nil arena, on the Go heap", Prepare: handler(http.HandlerFunc(orders.InArena)), Own: true}),
	}}
}

func handler(h http.Handler) prepare {
	return func(r *bench.Run) func() uint64 {
		client, err := orders.NewClient(h)
		if err != nil {
			r.Fail(err)
		}
		bodies := make([][]byte, 20)
		for i := range bodies {
			bodies[i] = orders.Body(i, 200)
		}
		return func() (sum uint64) {
			for i := range r.N {
				one, err := client.Post(bodies[i%len(bodies)])
				if err != nil {
					r.Fail(err)
				}
				sum = sum*31 + uint64(one)
			}
			return sum
		}
	}
}
