// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTag builds the program with and without the tag.
func TestTag(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command here")
	}
	for tags, want := range map[string]string{"": "false", "goheap": "true"} {
		c := exec.Command(goTool, "run", "-tags", tags, ".")
		c.Env = append(os.Environ(), "FREEHOLD=")
		if out, err := c.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("with the tags %q: %v, %s, want %s", tags, err, out, want)
		}
	}
}
