module github.com/freehold-go/freehold/cmd

go 1.26.0

require github.com/freehold-go/freehold v0.1.0
