module github.com/freehold-go/freehold/benchmarks/foreign/programs/jwt

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/golang-jwt/jwt/v5 v5.3.1
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
