// SPDX-License-Identifier: Apache-2.0

// Package trial holds what the conformance suites are made of: streams of operations, panics as
// errors, and a test that notes failures.
//
// Package alloctest and package arenasuite import it. It imports the standard library alone,
// because alloctest ends up in the tests of its users.
package trial
