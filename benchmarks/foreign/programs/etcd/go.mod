module github.com/freehold-go/freehold/benchmarks/foreign/programs/etcd

go 1.26.0

require (
	github.com/freehold-go/freehold/benchmarks/foreign/load v0.0.0
	go.etcd.io/etcd/client/v3 v3.7.3
	go.etcd.io/etcd/server/v3 v3.7.3
	google.golang.org/grpc v1.83.2
)

replace github.com/freehold-go/freehold/benchmarks/foreign/load => ../../load
