// SPDX-License-Identifier: Apache-2.0

//go:build freehold_heap

package freehold

// builtForHeap makes the heap mode permanent.
const builtForHeap = true
