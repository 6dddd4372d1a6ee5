module github.com/freehold-go/freehold/benchmarks/foreign/programs/imaging

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/disintegration/imaging v1.6.2
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
