// SPDX-License-Identifier: Apache-2.0

// Package workloads holds the tasks of freehold bench, each in a file with its contestants and its bars.
//
// [All] returns them as a set for package bench to run. The functions named after a task
// ([Objects], [Tree], [Churn] and so on) are the Prepare of a contestant of that task, so that
// another module can add rivals: each takes the rival's way to allocate, and does the task with it.
// Imports point down: workloads, then bench, then bound and usage.
package workloads
