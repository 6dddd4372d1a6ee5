// SPDX-License-Identifier: Apache-2.0

//go:build freehold_nolinkname

package percpu

import "sync/atomic"

// Linkname says whether IDs come from the runtime by linkname.
const Linkname = false

// busy says which IDs are held.
var busy [maxIDs]uint32

const maxIDs = 1 << 12

// Busy reports whether a goroutine that acquired the ID before the world was last stopped has not
// released it yet. IDs beyond the first few thousand are always busy.
func Busy(id int) bool { return id >= maxIDs || atomic.LoadUint32(&busy[id]) != 0 }
