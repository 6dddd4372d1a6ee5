package main

// unseen are the programs that were looked at only when the code of the doctor was frozen. Their entries
// have unseen: true.
var unseen []program
