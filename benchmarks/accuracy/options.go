package main

import "regexp"

// options are the flags of the command.
type options struct {
	run    *regexp.Regexp
	count  int    // pairs of runs
	ops    int    // operations of a run; 0 for as many as the program has by itself
	scale  int    // operations of a profiled run are this many times the program's
	keep   string // where runs leave their profiles and measurements
	add    bool   // to the measurements that are there
	golden string
	doc    string
}
