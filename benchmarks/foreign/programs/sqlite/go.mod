module github.com/freehold-go/freehold/benchmarks/foreign/programs/sqlite

go 1.26.0

require (
	modernc.org/sqlite v1.61.1
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
