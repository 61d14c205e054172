// Package rest is the HTTP client of the command line. It sends and reads JSON, reads
// server-sent events, and turns problem documents back into the errors they were.
package rest
