module github.com/freehold-go/freehold/benchmarks/foreign/programs/nats

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/nats-io/nats-server/v2 v2.15.2
	github.com/nats-io/nats.go v1.55.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
