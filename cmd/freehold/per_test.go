// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

func TestReadPer(t *testing.T) {
	for text, want := range map[string][2]evidence.Per{
		"": {}, "12000": {{Number: 12000}, {Number: 12000}}, "9e3,12000": {{Number: 9000}, {Number: 12000}},
		"http_requests_total": {{Counter: "http_requests_total"}, {Counter: "http_requests_total"}}, `a{b="1,2"}`: {{Counter: `a{b="1,2"}`}, {Counter: `a{b="1,2"}`}},
	} {
		if got, err := readPer(text, true); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"0": "above 0", "-3": "above 0", "1,2,3": "above 0", "1,2": "two numbers need -before", "NaN": "above 0"} {
		if _, err := readPer(text, text == "1,2,3"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
