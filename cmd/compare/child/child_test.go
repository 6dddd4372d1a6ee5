// SPDX-License-Identifier: Apache-2.0

package child

import (
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Setenv("GODEBUG", "gctrace=0,madvdontneed=1")
	last := func(env []string) (value string) {
		for _, e := range env {
			if v, ok := strings.CutPrefix(e, "GODEBUG="); ok {
				value = v
			}
		}
		return value
	}
	p := Process{}
	if got := last(p.environment(false)); got != "gctrace=0,madvdontneed=1" {
		t.Errorf("untraced: %q", got)
	}
	if got := last(p.environment(true)); got != "gctrace=0,madvdontneed=1,gctrace=1" {
		t.Errorf("traced: %q", got)
	}
	p.Env = []string{"GODEBUG=a=b"}
	if got := last(p.environment(true)); got != "a=b,gctrace=1" {
		t.Errorf("traced, with the command's own: %q", got)
	}
	t.Setenv("GODEBUG", "")
	p.Env = nil
	if got := last(p.environment(true)); got != "gctrace=1" {
		t.Errorf("traced, without: %q", got)
	}
}
