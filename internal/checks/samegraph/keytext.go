// SPDX-License-Identifier: Apache-2.0

package samegraph

import (
	"fmt"
	"reflect"
	"strconv"
)

// keyText names a map key by what it leads to.
func keyText(k reflect.Value) string {
	switch k.Kind() {
	case reflect.Pointer:
		if k.IsNil() {
			return "nil"
		}
		return "&" + keyText(k.Elem())
	case reflect.Interface:
		if k.IsNil() {
			return "nil"
		}
		return k.Elem().Type().String() + "(" + keyText(k.Elem()) + ")"
	case reflect.Struct:
		if k.NumField() > 0 {
			return "{" + keyText(k.Field(0)) + "}" // The first field tells values apart.
		}
	case reflect.Array:
		text := "["
		for i := range k.Len() {
			text += keyText(k.Index(i)) + " "
		}
		return text + "]"
	case reflect.String:
		return strconv.Quote(k.String())
	}
	return fmt.Sprint(k)
}
