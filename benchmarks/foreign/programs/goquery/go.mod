module github.com/freehold-go/freehold/benchmarks/foreign/programs/goquery

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/PuerkitoBio/goquery v1.13.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
