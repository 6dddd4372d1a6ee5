module github.com/freehold-go/freehold/benchmarks/foreign/programs/rrule

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/teambition/rrule-go v1.8.2
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
