module github.com/freehold-go/freehold/benchmarks/foreign/programs/ethereum

go 1.26.0

require (
	github.com/ethereum/go-ethereum v1.17.10
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
