// Package linear holds calls of package cache that run at the same time to some order of one after the other.
//
// That is linearizability (Herlihy and Wing, 1990). It is a package of tests alone, which need a checker.
package linear
