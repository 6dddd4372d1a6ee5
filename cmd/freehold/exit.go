// SPDX-License-Identifier: Apache-2.0

package main

// exitUsage is the exit status for a wrong command line, and for each error without a status of its
// own.
const exitUsage = 1

// exitUnknown is the exit status for a command that does not exist.
const exitUnknown = 2

// The exit statuses of the doctor beside 0: a finding is above the share of -fail-above, there is no
// answer, or the program that it ran failed.
const (
	exitAbove  = 1
	exitNoIdea = 2
	exitFailed = 3
)

// The exit statuses of compare. 130 is what shells report for a program that Ctrl-C ended.
const (
	exitSlower      = 1
	exitNoResult    = 2
	exitInterrupted = 130
)
