module github.com/freehold-go/freehold/benchmarks/foreign/programs/minify

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/tdewolff/minify/v2 v2.24.25
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
