module github.com/freehold-go/freehold/benchmarks/foreign/programs/bluemonday

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/microcosm-cc/bluemonday v1.0.27
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
