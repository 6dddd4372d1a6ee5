// SPDX-License-Identifier: Apache-2.0

package debugmode

import "math"

// The bytes that mark memory. None of them, repeated, is an address that a system gives to a
// program, a small number, or text.
const (
	PoisonFresh byte = 0xF5 // allocated without zeroing, and not written yet
	PoisonFreed byte = 0xDD // freed
	Canary      byte = 0xCA // beside a block: never written by a correct program
)

// TypedPattern takes their place in memory of types that hold bools, or pointers that the collector
// does not follow: each byte is a valid bool, and a word of them is no address.
const TypedPattern = byte(math.MaxUint >> 63) // 1, or 0 on 32-bit systems, where 0x01010101 may well be an address
