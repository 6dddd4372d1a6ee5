//go:build !cgo

// Command elsewhere-cgo spends its time in C.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "elsewhere-cgo needs a C compiler: build it with CGO_ENABLED=1")
	os.Exit(1)
}
