// Package auto starts a tuner of package gctune before main, for programs that want nothing but an import.
//
//	import _ "github.com/freehold-go/freehold/gctune/auto"
//
// It is gctune.Start with the zero Options and [slog.Default], for the life of the process. The variable GCTUNE switches it off or changes the
// policy and the ratio. What cannot be done is logged, and the program goes on. A program with settings of its own calls gctune.Start instead;
// both together are an error of the second, gctune.ErrRunning.
package auto

import (
	"context"
	"log/slog"

	"github.com/freehold-go/freehold/gctune"
)

func init() {
	if _, err := gctune.Start(context.Background(), gctune.Options{Logger: slog.Default()}); err != nil {
		slog.Default().Warn("gctune: no limit is set", "error", err)
	}
}
