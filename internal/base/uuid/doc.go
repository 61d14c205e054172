// Package uuid reads and writes UUIDs of version 7 in their canonical form: 36 characters,
// lower case. It makes no UUIDs: that takes a clock.
package uuid
