// SPDX-License-Identifier: Apache-2.0

package vmem

// mapNoReserve is not known to FreeBSD, which charges a mapping when it becomes writable.
const mapNoReserve = 0
