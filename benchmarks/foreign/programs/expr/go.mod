module github.com/freehold-go/freehold/benchmarks/foreign/programs/expr

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/expr-lang/expr v1.17.8
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
