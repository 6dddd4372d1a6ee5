module github.com/freehold-go/freehold/adapters/arenaproto

go 1.26.0

require (
	github.com/freehold-go/freehold v0.1.0
	google.golang.org/protobuf v1.36.6
)

require golang.org/x/sys v0.47.0 // indirect
