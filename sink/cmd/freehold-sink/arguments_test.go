// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestArguments: what the command does not understand is an error, and nothing is left out in silence.
func TestArguments(t *testing.T) {
	for line, want := range map[string]string{
		"chek":               `there is no command "chek"`,
		"check other.yaml":   `"other.yaml" is no flag of check; the configuration is named by -config FILE`,
		"run -config f.yaml": "open f.yaml: no such file or directory",
		"run -offline":       "flag provided but not defined: -offline",
		"replay -topic a":    `Required flag "to" not set; freehold-sink replay -help lists the flags`,
	} {
		cmd := exec.Command(os.Args[0], strings.Fields(line)...)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err == nil || strings.Count(string(out), want) != 1 || strings.Count(string(out), "\n") != 1 {
			t.Errorf("freehold-sink %s: %v, %s", line, err, out)
		}
	}
}
