module github.com/freehold-go/freehold/benchmarks/foreign/programs/goja-rules

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/dop251/goja v0.0.0-20260917113740-793a2a65c13b
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
