module github.com/freehold-go/freehold/benchmarks/foreign/programs/go-yaml

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/goccy/go-yaml v1.19.2
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
