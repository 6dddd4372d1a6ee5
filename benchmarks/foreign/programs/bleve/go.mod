module github.com/freehold-go/freehold/benchmarks/foreign/programs/bleve

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/blevesearch/bleve/v2 v2.6.3
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
