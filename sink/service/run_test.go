// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestOnceInfo: the first message says what the limit of memory is, and its changes are for those who look for them.
func TestOnceInfo(t *testing.T) {
	for level, want := range map[slog.Level]string{slog.LevelInfo: "INFO one,WARN two,", slog.LevelDebug: "INFO one,WARN two,DEBUG three,", slog.LevelError: ""} {
		var out bytes.Buffer
		log := slog.New(&onceInfo{Handler: slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})})
		log.Info("one")
		log.Warn("two")
		log.Info("three")
		got := ""
		for line := range strings.Lines(out.String()) {
			_, rest, _ := strings.Cut(line, "level=")
			got += strings.Replace(strings.TrimSpace(rest), " msg=", " ", 1) + ","
		}
		if got != want {
			t.Errorf("at level %v: %s, want %s", level, got, want)
		}
	}
}
