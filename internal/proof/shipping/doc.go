// Package shipping checks the files that Posthouse is built, released and run with: the image,
// the composition of containers, the unit of systemd. Machines that have no Docker check them
// too, since the tests read the files.
package shipping
