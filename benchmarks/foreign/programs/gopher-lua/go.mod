module github.com/freehold-go/freehold/benchmarks/foreign/programs/gopher-lua

go 1.26.0

require (
	github.com/yuin/gopher-lua v1.1.2
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
