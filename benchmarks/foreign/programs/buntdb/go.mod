module github.com/freehold-go/freehold/benchmarks/foreign/programs/buntdb

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/tidwall/buntdb v1.3.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
