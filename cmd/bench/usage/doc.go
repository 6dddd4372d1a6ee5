// SPDX-License-Identifier: Apache-2.0

// Package usage reads the system's figures for this process: CPU time, resident memory, and memory
// taken from the machine.
package usage
