module github.com/freehold-go/freehold/benchmarks/foreign/programs/cel

go 1.26.0

require (
	cel.dev/cel-go v0.32.0
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
