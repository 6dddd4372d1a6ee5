// SPDX-License-Identifier: Apache-2.0

//go:build goexperiment.jsonv2

package arenajson

import (
	"bytes"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"reflect"
)

func init() {
	fromTypeV2 = reflect.TypeFor[jsonv2.UnmarshalerFrom]()
	fromV2 = unmarshalFrom
	methodTypesV2 = append(methodTypesV2, reflect.TypeFor[jsonv2.MarshalerTo](), fromTypeV2)
}

// unmarshalFrom lets v decode itself from a text that it must read to the end.
func unmarshalFrom(v any, text []byte, quoted, name bool) error {
	before := 0
	if name {
		text = append(append([]byte{'{'}, text...), ":0}"...)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(bytes.Clone(text)), jsonv2.StringifyNumbers(quoted && !name))
	if name {
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		before = 1
	}
	err := v.(jsonv2.UnmarshalerFrom).UnmarshalJSONFrom(dec)
	if _, n := dec.StackIndex(dec.StackDepth()); err == nil && (dec.StackDepth() != before || n != 1) {
		err = errors.New("arenajson: UnmarshalJSONFrom must read one value")
	}
	return err
}
