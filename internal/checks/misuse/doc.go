// SPDX-License-Identifier: Apache-2.0

// Command misuse holds small programs that use freehold wrongly, says which debug mode or sanitizer
// must catch each of them, and runs one.
//
//	misuse [-explain] name variant
//	misuse -stale
//
// It prints done and ends with status 0 if nothing stopped it. With -explain a fault becomes a
// panic that is recovered and explained on standard error, as a program can do that turns on
// debug.SetPanicOnFault; it ends with status 3 then.
//
// With -stale it runs all programs that use a value of an arena on Go memory too late. Much other
// memory is made and freed before each use, and the command prints what the program has read: the
// same as with FREEHOLD=heap where memory is not reused.
//
// The [Corpus] is the yardstick of the debug modes: it says what a report must contain, and that
// there is none where nothing is wrong. The test starts the command once for each program, way of
// allocating and mode, and compares. The tables in docs/misuse-programs.md are made from the
// corpus.
//
// In all programs the functions that allocate the misused memory are called allocate…, those that
// free it giveUp… and those that use it wrongly access…, so that a test can say which stack of a
// report is which. They belong to package main, as their users' do, because reports leave out the
// calls within freehold.
package main
