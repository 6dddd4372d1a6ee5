//go:build freehold_nohooks

package offheap

const hooks = 0
