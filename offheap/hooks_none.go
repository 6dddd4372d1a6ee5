// SPDX-License-Identifier: Apache-2.0

//go:build freehold_nohooks

package offheap

const hooks = 0
