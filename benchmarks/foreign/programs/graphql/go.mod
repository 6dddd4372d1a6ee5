module github.com/freehold-go/freehold/benchmarks/foreign/programs/graphql

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/graphql-go/graphql v0.8.1
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
