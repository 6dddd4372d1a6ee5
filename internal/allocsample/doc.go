// SPDX-License-Identifier: Apache-2.0

// Package allocsample decides which allocations off the heap are sampled, and keeps the records of
// the sampled ones.
//
// It serves offheap, which allocates, and lists the records in Samples. A block is sampled with a
// probability that depends on its size alone: one less exp(-size/period), as if sample points lay
// at random over all bytes ever allocated, on average one in a period. So a sampled block stands
// for the reciprocal of that many blocks of its size. Everything here may be called from any
// goroutine.
package allocsample
