// SPDX-License-Identifier: Apache-2.0

package evidence

import "errors"

// ErrInput matches all errors about an input's contents, by errors.Is.
var ErrInput = errors.New("not usable")

// inputError is such an error, in one line with the fault and the advice.
type inputError string

func (e inputError) Error() string { return string(e) }

func (e inputError) Is(target error) bool { return target == ErrInput }
