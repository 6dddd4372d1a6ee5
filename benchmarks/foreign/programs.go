package main

import (
	"regexp"
	"slices"
)

// programs are all of them. Each group has a file of its own.
var programs = slices.Concat(libraries, services, commands, earlier, examination)

func selected(pattern *regexp.Regexp) (some []program) {
	for _, p := range programs {
		if pattern.MatchString(p.name) {
			some = append(some, p)
		}
	}
	return some
}
