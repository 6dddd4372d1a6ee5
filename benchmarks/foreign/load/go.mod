module github.com/freehold-go/freehold/benchmarks/foreign/load

go 1.26.0
