module github.com/freehold-go/freehold/benchmarks/foreign/programs/prometheus

go 1.26.0

require (
	github.com/prometheus/prometheus v0.310.0
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
