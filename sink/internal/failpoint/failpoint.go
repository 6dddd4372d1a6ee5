// SPDX-License-Identifier: Apache-2.0

// Package failpoint names the places of the sink at which tests end the process.
//
// Outside of tests each place costs a comparison with nil.
package failpoint

// The places.
const (
	Rotation = "rotation" // an epoch reaches its boundary
	Upload   = "upload"   // an object is about to be stored
	Uploaded = "uploaded" // an object is stored
	Stored   = "stored"   // all objects of an epoch are stored, and its offset is not committed
	Assigned = "assigned" // a partition comes
	Revoke   = "revoke"   // a partition is to be given up
	Revoked  = "revoked"  // a partition is given up
)

var hook func(place string)

// Set has a function called at each place, by the goroutine that passes it. Tests call it before the sink runs, and nobody else does.
func Set(f func(place string)) { hook = f }

// At says that a goroutine passes a place.
func At(place string) {
	if hook != nil {
		hook(place)
	}
}
