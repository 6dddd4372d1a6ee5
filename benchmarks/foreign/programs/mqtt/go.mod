module github.com/freehold-go/freehold/benchmarks/foreign/programs/mqtt

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/mochi-mqtt/server/v2 v2.7.9
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
