// SPDX-License-Identifier: Apache-2.0

package arena

import "context"

type contextKey struct{}

// NewContext returns ctx with a in it.
func NewContext(ctx context.Context, a *Arena) context.Context {
	return context.WithValue(ctx, contextKey{}, a)
}

// FromContext returns the arena in ctx, or the nil arena, which allocates from the Go heap.
func FromContext(ctx context.Context) *Arena {
	a, _ := ctx.Value(contextKey{}).(*Arena)
	return a
}
