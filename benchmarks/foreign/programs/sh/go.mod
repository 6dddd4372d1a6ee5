module github.com/freehold-go/freehold/benchmarks/foreign/programs/sh

go 1.26.0

require (
	mvdan.cc/sh/v3 v3.14.1
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
