// SPDX-License-Identifier: Apache-2.0

package trial

import "fmt"

// Try calls f and returns its error; a panic becomes an error too, and panicked says so.
func Try(f func() error) (err error, panicked bool) {
	panicked = true
	defer func() {
		if !panicked {
			return
		}
		switch v := recover().(type) {
		case nil:
			// A runtime.Goexit, by t.FailNow for example: it goes on by itself.
		case error:
			err = v
		default:
			err = fmt.Errorf("%v", v)
		}
	}()
	err = f()
	panicked = false
	return err, false
}
