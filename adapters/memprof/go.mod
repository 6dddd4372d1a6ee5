module github.com/freehold-go/freehold/adapters/memprof

go 1.26.0

require (
	github.com/freehold-go/freehold v0.1.0
	github.com/google/pprof v0.0.0-20230207041349-798e818bf904
)

require golang.org/x/sys v0.47.0 // indirect
