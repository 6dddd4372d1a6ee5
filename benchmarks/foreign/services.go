package main

// services are servers, under the load of a client in another process.
var services []program
