// SPDX-License-Identifier: Apache-2.0

package auto_test

import (
	"testing"

	"github.com/freehold-go/freehold/gctune"
	_ "github.com/freehold-go/freehold/gctune/auto"
)

func TestRunsBeforeMain(t *testing.T) {
	s, ok := gctune.ReadStats()
	if !ok || s.Looks == 0 {
		t.Errorf("stats %+v, %v; want a tuner that has looked", s, ok)
	}
	t.Log(s)
	if _, err := gctune.Start(t.Context(), gctune.Options{}); err != gctune.ErrRunning {
		t.Errorf("error %v, want ErrRunning", err)
	}
}
