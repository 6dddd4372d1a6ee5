module github.com/freehold-go/freehold/benchmarks/foreign/programs/roaring

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/RoaringBitmap/roaring/v2 v2.30.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
