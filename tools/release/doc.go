// Command release builds what a tag is released with, from a checkout: a binary for each of six
// platforms in an archive, with manual pages and completions; a bill of materials of each; Debian
// and RPM packages for Linux; the chart; checksums of all; and the notes from CHANGELOG.md.
//
//	go -C tools run ./release -root .. -out ../dist -version v0.1.0
//	go -C tools run ./release -root .. -out ../dist -version v0.1.0-rc.1 -platforms linux/amd64
//
// The same checkout and the same Go give the same bytes. It is a program of our own rather than a
// configuration of GoReleaser, so that the tests run it.
package main
