// SPDX-License-Identifier: Apache-2.0

//go:build !go1.27 || (!goexperiment.jsonv2 && !go1.28)

package arenajson

import "reflect"

// Go 1.26 has no interfaces by which types decode themselves from a jsontext.Decoder.
var (
	fromType        reflect.Type
	methodTypesFrom []reflect.Type
)
