// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sweep

func groupListens(int) (bool, error) { return false, errNoListeners }
