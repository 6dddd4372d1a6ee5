module github.com/freehold-go/freehold/benchmarks/foreign/programs/enmime

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/jhillyerd/enmime/v2 v2.3.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
