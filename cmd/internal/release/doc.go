// SPDX-License-Identifier: Apache-2.0

// Package release proves that the modules can be used from outside this repository before they are tagged.
//
// Its test packs the modules as a module proxy would serve them, then builds a module of its own that requires the library and
// installs the command from there. The workspace file and everything that is not committed stay out of sight, as they do for users.
package release
