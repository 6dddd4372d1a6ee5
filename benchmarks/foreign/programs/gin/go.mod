module github.com/freehold-go/freehold/benchmarks/foreign/programs/gin

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/gin-gonic/gin v1.12.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
