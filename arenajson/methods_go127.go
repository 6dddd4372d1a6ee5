// SPDX-License-Identifier: Apache-2.0

//go:build go1.27 && (goexperiment.jsonv2 || go1.28)

package arenajson

import (
	jsonv2 "encoding/json/v2"
	"reflect"
)

// The interfaces by which types encode themselves to, and decode themselves from, package jsontext.
var (
	fromType        = reflect.TypeFor[jsonv2.UnmarshalerFrom]()
	methodTypesFrom = []reflect.Type{reflect.TypeFor[jsonv2.MarshalerTo](), fromType}
)
