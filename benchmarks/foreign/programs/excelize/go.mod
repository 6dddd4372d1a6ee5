module github.com/freehold-go/freehold/benchmarks/foreign/programs/excelize

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	github.com/xuri/excelize/v2 v2.11.1
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
