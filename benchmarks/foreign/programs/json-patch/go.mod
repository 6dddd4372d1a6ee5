module github.com/freehold-go/freehold/benchmarks/foreign/programs/json-patch

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/evanphx/json-patch/v5 v5.9.11
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
