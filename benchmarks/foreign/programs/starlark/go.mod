module github.com/freehold-go/freehold/benchmarks/foreign/programs/starlark

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	go.starlark.net v0.0.0-20260908191801-89a6a09411d5
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
