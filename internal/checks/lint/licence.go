// SPDX-License-Identifier: Apache-2.0

package lint

import "strings"

// licence begins every Go file, in the form of https://spdx.dev, so that a file that is copied from
// the repository says under which terms. It is that of the file LICENSE.
const licence = "// SPDX-License-Identifier: Apache-2.0\n\n"

// Licences checks that each Go file begins with the licence. Benchmarks are not installed, and the
// doctor's records cite their lines.
func Licences(r *Repo) (found []Finding) {
	for _, f := range r.Files {
		if f.Path == "LICENSE" && !(strings.Contains(f.Text, "Apache License") && strings.Contains(f.Text, "Version 2.0")) {
			found = append(found, Finding{Path: f.Path, Text: "is not the licence that the Go files name, Apache-2.0"})
		}
	}
	r.goFiles(func(f *File) {
		if !inside(f.Dir(), "benchmarks") && !strings.HasPrefix(f.Text, licence) {
			found = append(found, Finding{Path: f.Path, Text: "does not begin with the licence: sed -i '1i // SPDX-License-Identifier: Apache-2.0\\n' " + f.Path})
		}
	})
	return found
}

// body is the file's text without the licence.
func (f *File) body() string { return strings.TrimPrefix(f.Text, licence) }
