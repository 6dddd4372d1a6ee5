package main

import "regexp"

// options are what the flags say.
type options struct {
	run   *regexp.Regexp
	count int    // rounds of runs
	ops   int    // operations of a run; 0 for as many as the program has by itself
	keep  string // where sources, binaries, profiles and measurements stay
	add   bool   // rounds to the measurements that are there, without new profiles
	doc   string
	blind bool // the gains alone, without the doctor
}
