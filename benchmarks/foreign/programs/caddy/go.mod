module github.com/freehold-go/freehold/benchmarks/foreign/programs/caddy

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/caddyserver/caddy/v2 v2.11.9
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
