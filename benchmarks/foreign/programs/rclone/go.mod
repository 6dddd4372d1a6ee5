module github.com/freehold-go/freehold/benchmarks/foreign/programs/rclone

go 1.26.0

require (
	github.com/rclone/rclone v1.76.0
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
