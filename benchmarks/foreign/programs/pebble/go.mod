module github.com/freehold-go/freehold/benchmarks/foreign/programs/pebble

go 1.26.0

require (
	github.com/cockroachdb/pebble/v2 v2.1.7
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
