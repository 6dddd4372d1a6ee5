module github.com/freehold-go/freehold/benchmarks/foreign/programs/pprof

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/google/pprof v0.0.0-20261016150608-1facf8f91b50
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
