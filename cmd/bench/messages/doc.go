// SPDX-License-Identifier: Apache-2.0

// Package messages makes workloads that decode Protocol Buffers: a [Task] is a type of message and its input.
//
// freehold bench -type builds a program with one task for a type of the user's. The workloads proto of the module
// benchmarks are tasks, too.
package messages
