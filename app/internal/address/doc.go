// Package address shows the addresses of stores and servers without what is secret in
// them: whatever is printed, logged or returned may end in a file that others read.
package address
