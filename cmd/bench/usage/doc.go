// Package usage says what the system counts for this process: CPU time, resident memory, and memory taken from the machine.
package usage
