// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"math"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// Checksums of decoded documents, the same for structs, maps and interfaces. Null, false, zero and
// empty values do not count, because in a struct they look like missing ones. Members count in any
// order, because maps have none.

func numberSum(v float64) uint64 {
	if v == 0 {
		return 0
	}
	return math.Float64bits(v)
}

// stringSum reads every byte (FNV-1a).
func stringSum(s string) uint64 {
	if s == "" {
		return 0
	}
	sum := uint64(14695981039346656037)
	for i := range len(s) {
		sum = (sum ^ uint64(s[i])) * 1099511628211
	}
	return sum | 1
}

func memberSum(name string, value uint64) uint64 { return value * (stringSum(name)*2 + 1) }

func itemSum(i int, value uint64) uint64 { return value * uint64(2*i+3) }

// decodedSum is the checksum of a pointer's target.
func decodedSum(target any) uint64 { return valueSum(reflect.ValueOf(target)) }

func valueSum(v reflect.Value) (sum uint64) {
	switch v.Kind() {
	case reflect.Invalid:
		return 0
	case reflect.Pointer, reflect.Interface:
		return valueSum(v.Elem())
	case reflect.String:
		return stringSum(v.String())
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Float64:
		return numberSum(v.Float())
	case reflect.Int64:
		return numberSum(float64(v.Int()))
	case reflect.Slice:
		for i := range v.Len() {
			sum += itemSum(i, valueSum(v.Index(i)))
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			sum += memberSum(entries.Key().String(), valueSum(entries.Value()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			sum += memberSum(v.Type().Field(i).Tag.Get("json"), valueSum(v.Field(i)))
		}
	default:
		panic(fmt.Sprintf("bench: decode made a %s", v.Kind()))
	}
	return sum
}

// tokenSum is the checksum of the next value.
func tokenSum(decoder *jsontext.Decoder) (sum uint64, err error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return 0, err
	}
	switch token.Kind() {
	case jsontext.KindString:
		return stringSum(token.String()), nil
	case jsontext.KindTrue:
		return 1, nil
	case jsontext.KindNumber:
		v, err := token.Float()
		return numberSum(v), err
	case jsontext.KindBeginArray:
		for i := 0; decoder.PeekKind() != jsontext.KindEndArray; i++ {
			value, err := tokenSum(decoder)
			if err != nil {
				return 0, err
			}
			sum += itemSum(i, value)
		}
		_, err = decoder.ReadToken()
	case jsontext.KindBeginObject:
		for decoder.PeekKind() != jsontext.KindEndObject {
			name, err := decoder.ReadToken()
			if err != nil {
				return 0, err
			}
			text := name.String() // the token is gone with the next one
			value, err := tokenSum(decoder)
			if err != nil {
				return 0, err
			}
			sum += memberSum(text, value)
		}
		_, err = decoder.ReadToken()
	}
	return sum, err
}
