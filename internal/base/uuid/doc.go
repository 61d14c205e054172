// Package uuid reads and writes UUIDs of version 7 in their canonical form: 36 characters,
// lower case. It makes none: that takes a clock.
package uuid
