module github.com/freehold-go/freehold/benchmarks/foreign/programs/memdb

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/hashicorp/go-memdb v1.3.5
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
