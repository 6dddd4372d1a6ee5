// SPDX-License-Identifier: Apache-2.0

// Package bound holds the physical bound: allocators written by hand for one task, over one mapping, without any check.
//
// General allocators are compared with them. Do not use them in programs: one wrong free corrupts
// them at once. All unsafe code of the command is here.
package bound
