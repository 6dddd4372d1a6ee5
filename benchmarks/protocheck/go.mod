module github.com/freehold-go/freehold/benchmarks/protocheck

go 1.26.0

require (
	github.com/bufbuild/protocompile v0.14.1
	github.com/freehold-go/freehold v0.1.0
	github.com/freehold-go/freehold/adapters/arenaproto v0.1.0
	github.com/protocolbuffers/protoscope v0.0.0-20221109213918-8e7a6aafa2c9
	go.yaml.in/yaml/v3 v3.0.6
	google.golang.org/protobuf v1.36.12
)

require (
	golang.org/x/sync v0.8.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

// Nobody installs this module, so it may point at what lies beside it.
replace (
	github.com/freehold-go/freehold => ../../
	github.com/freehold-go/freehold/adapters/arenaproto => ../../adapters/arenaproto
)
