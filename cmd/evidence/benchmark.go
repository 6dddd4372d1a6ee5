// SPDX-License-Identifier: Apache-2.0

package evidence

// A Benchmark has the results of one benchmark in the output of go test -bench, over all its runs.
type Benchmark struct {
	// Name is the full name, such as BenchmarkDecode/small, without the number of Ps if all results
	// of the input end in the same.
	Name string
	// Package is the path of the package, "" if the output does not have it.
	Package string
	// Runs are the results, in the order of the output.
	Runs []BenchmarkRun
}

// A BenchmarkRun is a line of the output.
type BenchmarkRun struct {
	// Operations is the number of operations, and Seconds the elapsed time of one, 0 if the line has
	// none.
	Operations int
	Seconds    float64
	// Bytes and Objects are what one operation allocates; Memory says whether the line has them, as
	// with -benchmem.
	Bytes, Objects float64
	Memory         bool
}
