module github.com/freehold-go/freehold/benchmarks/foreign/programs/coredns

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/coredns/coredns v1.15.0
	github.com/miekg/dns v1.1.73
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
