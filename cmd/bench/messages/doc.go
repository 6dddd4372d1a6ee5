// SPDX-License-Identifier: Apache-2.0

// Package messages makes workloads that decode Protocol Buffers: a [Task] is a type of message and its input.
//
// The workloads of freehold's own command are tasks of package workloads. freehold bench -type builds a program with
// one task for a type of the user's. That program must not import package workloads, because two Go packages
// for the same .proto file cannot be in one program.
package messages
