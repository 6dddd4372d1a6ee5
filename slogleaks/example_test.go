// SPDX-License-Identifier: Apache-2.0

package slogleaks_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/slogleaks"
)

func Example() {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	defer slogleaks.Log(context.Background(), logger) // At the end of main, memory in use is a leak.

	forgotten := offheap.NewPurpose("thumbnails").Alloc(1 << 20)
	copy(forgotten, "…")
}
