module github.com/freehold-go/freehold/benchmarks/foreign/programs/telegraf

go 1.26.0

require (
	github.com/influxdata/telegraf v1.37.2
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
