module github.com/freehold-go/freehold/benchmarks/foreign/programs/gojq

go 1.26.0

require (
	github.com/itchyny/gojq v0.12.20
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
