// SPDX-License-Identifier: Apache-2.0

//go:build !freehold_nohooks

package offheap

// hooks is 1, and 0 with the build tag freehold_nohooks, which is there to measure what the count
// of a slot costs: it takes it out of the fast path. Nothing is sampled then.
const hooks = 1
