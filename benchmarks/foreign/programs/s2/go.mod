module github.com/freehold-go/freehold/benchmarks/foreign/programs/s2

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/golang/geo v0.0.0-20260818125358-b200a1149890
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
