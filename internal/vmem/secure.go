// SPDX-License-Identifier: Apache-2.0

package vmem

// Secrecy says what [Memory.Secure] achieved for a range. What a system has no call for stays
// false.
type Secrecy struct {
	Locked      bool // The pages are never written to swap.
	NotDumped   bool // Core dumps leave the range out.
	WipedOnFork bool // A child process that is forked without exec reads zeros there.
}

// Secure implements Memory.
func (system) Secure(addr, size uintptr) (Secrecy, error) {
	if err := checkRange(OpSecure, addr, size); err != nil {
		return Secrecy{}, err
	}
	s, err := secure(addr, size)
	return s, fail(OpSecure, addr, size, err)
}
