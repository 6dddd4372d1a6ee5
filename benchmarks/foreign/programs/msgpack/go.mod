module github.com/freehold-go/freehold/benchmarks/foreign/programs/msgpack

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/vmihailenco/msgpack/v5 v5.4.1
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
