module github.com/freehold-go/freehold/benchmarks/foreign/programs/opa

go 1.26.0

require (
	github.com/open-policy-agent/opa v1.22.2
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
