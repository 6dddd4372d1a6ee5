module github.com/freehold-go/freehold/benchmarks/foreign/programs/chroma

go 1.26.0

require (
	github.com/alecthomas/chroma/v2 v2.27.0
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
