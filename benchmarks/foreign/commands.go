package main

// commands are installed and run as their users run them.
var commands []program
