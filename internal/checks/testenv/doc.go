// SPDX-License-Identifier: Apache-2.0

// Package testenv puts a test where the system refuses it something: a process of its own with
// limits, a small disk, a machine that does not overcommit.
//
// It also says how long stress tests run. A test that cannot have its surroundings (no root, an
// emulator, another system than Linux) is skipped. What changes the whole machine must be asked
// for. Only tests import the package.
package testenv
