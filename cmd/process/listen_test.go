// SPDX-License-Identifier: Apache-2.0

package process

import "testing"

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{"0100007F:1F90": "127.0.0.1:8080", "00000000000000000000000001000000:0050": "[::1]:80", "0000000000000000FFFF00000100007F:0050": "127.0.0.1:80"} {
		if got, ok := addressOf(text); !ok || got.String() != want {
			t.Errorf("%s: %v, %t", text, got, ok)
		}
	}
	for _, bad := range []string{"", "01:02", "x:1F90", "0100007F"} {
		if got, ok := addressOf(bad); ok {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
