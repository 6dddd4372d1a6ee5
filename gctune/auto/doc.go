// SPDX-License-Identifier: Apache-2.0

// Package auto starts a tuner of package gctune before main, for programs that need only an import.
//
//	import _ "github.com/freehold-go/freehold/gctune/auto"
//
// It calls gctune.Start with the zero Options and [slog.Default], for the life of the process. The
// variable GCTUNE switches the tuner off, or changes the policy and the ratio. If Start fails, the
// package logs the error, and the program goes on. A program with settings of its own calls
// gctune.Start instead. If a program uses both, its own Start returns gctune.ErrRunning.
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
