// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package invariants

// Enabled says that the checks are compiled in.
const Enabled = true
