package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts run this test binary as the command freehold, and so do the children that bench starts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"freehold": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
