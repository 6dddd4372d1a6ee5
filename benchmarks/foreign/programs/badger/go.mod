module github.com/freehold-go/freehold/benchmarks/foreign/programs/badger

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/dgraph-io/badger/v4 v4.9.6
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
