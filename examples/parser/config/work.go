// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
)

// Source writes a configuration of so many services. Files of different numbers differ.
func Source(file, services int) []byte {
	var b bytes.Buffer
	for i := range services {
		n := file*services + i
		fmt.Fprintf(&b, "# Service %d.\nservice \"api-%d\" {\n", n, n)
		fmt.Fprintf(&b, "\tzones    = %d\n\treplicas = 2 * zones + %d\n\tdebug    = false\n", 1+n%3, n%7)
		fmt.Fprintf(&b, "\talert    = replicas >= 4 && !(debug || zones == 1)\n")
		fmt.Fprintf(&b, "\thosts    = [\"a%d.example\", \"b%d.example\", \"c%d.example\"]\n", n, n, n)
		fmt.Fprintf(&b, "\tgreeting = \"hello \\\"%d\\\"\\n\"\n", n)
		fmt.Fprintf(&b, "\tlimits \"hard\" {\n\t\tbase   = %d\n\t\tmemory = base * (1 + 0.5) - -%d\n\t\tcpu    = %d / 4\n\t}\n}\n", 64<<(n%5), n%10, 1+n%16)
	}
	return b.Bytes()
}

// Memory is the memory of all services of a file, each with all of its replicas.
func (f *File) Memory() (sum float64, err error) {
	for _, service := range f.Blocks {
		memory, err := service.Memory()
		if err != nil {
			return 0, err
		}
		sum += memory
	}
	return sum, nil
}

// Memory is the memory of a service with all of its replicas.
func (b *Block) Memory() (float64, error) {
	replicas, err := b.Number("replicas")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, limits := range b.Blocks {
		memory, err := limits.Number("memory")
		if err != nil {
			return 0, err
		}
		sum += memory
	}
	return replicas * sum, nil
}
