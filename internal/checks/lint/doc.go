// SPDX-License-Identifier: Apache-2.0

// Package lint holds the repository to its own rules, as a go test.
//
// # Model
//
// [Load] reads the files of the repository; each rule is a function from the files to findings, and
// a test runs them all over the repository and over small examples that break them. The rules:
// which package may import which, where unsafe, linkname and cgo may stand and that each unsafe
// operation says why it is safe, documentation on exported names, lengths, names, marks of
// unfinished work, paths of an author's machine, that the files of a package name each other one
// way, and two sets of golden files: the dependencies of each module and the exported API.
//
// # Changing a golden file
//
// go test ./internal/checks/lint -update writes api/*.txt and the lists of dependencies anew, and
// lowers the numbers of testdata/circles.txt; the diff is then part of the review.
//
// # What it is not
//
// It knows syntax, and types in [OneWay] alone: other rules that need types are left to go vet.
package lint
