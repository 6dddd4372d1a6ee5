// SPDX-License-Identifier: Apache-2.0

//go:build !freehold_heap

package freehold

// builtForHeap is false in an ordinary build: the modes are chosen at run time.
const builtForHeap = false
