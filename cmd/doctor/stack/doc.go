// SPDX-License-Identifier: Apache-2.0

// Package stack classifies the stacks of profiles: what used the CPU time, and whose code it was.
//
// Start with [NewTable], which makes the frames of one program, and [Table.Stacks], which returns
// the stacks of a profile. [Classify] says whether a stack is the program's own work, the
// allocator's or the collector's, and [ActivityOf] what the program's own work is. Only [IsRuntime]
// decides which functions are the runtime's, so figures and flame graphs agree.
//
// The tables name the runtime's functions as of Go 1.19 and later.
package stack
