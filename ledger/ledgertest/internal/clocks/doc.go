// Package clocks has the cases of package ledgertest about clocks that jump.
package clocks
