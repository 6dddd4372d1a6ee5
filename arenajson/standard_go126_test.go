// SPDX-License-Identifier: Apache-2.0

//go:build !go1.27 || (!goexperiment.jsonv2 && !go1.28)

package arenajson

// standardIs127 says that encoding/json has the meaning that arenajson has in every build. That of Go 1.26 differs: see TestDiffersFrom126.
const standardIs127 = false

// standard decodes in the simplest of our own ways. What that means is compared with Go 1.27 by TestMeaningOf127.
func standard(doc []byte, v any) error { return UnmarshalInto(nil, doc, v) }
