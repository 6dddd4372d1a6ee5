// SPDX-License-Identifier: Apache-2.0

//go:build !cgo

package main

import "errors"

func leakInC() (map[string]int64, error) { return nil, errors.New("there is no C compiler") }
