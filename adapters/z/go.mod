module github.com/freehold-go/freehold/adapters/z

go 1.26.0

require github.com/freehold-go/freehold v0.1.0

require golang.org/x/sys v0.47.0 // indirect
