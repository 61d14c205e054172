// Package paging reads what a query finds page by page, and holds no connection in between:
//
//	p := paging.For(limit)
//	for item, err := range paging.All(limit, func(left int) ([]T, bool, error) {
//		page, bytes, err := read(p.Next(left))
//		p.Took(bytes)
//		...
//	})
package paging

import (
	"iter"
	"math"
)

// MaxRows is how many rows a page has at most.
const MaxRows = 512

// These limits bound a page, too: it begins small, and grows while its rows are.
const (
	firstRows = 16
	enough    = 1 << 20 // bytes, from which on a page grows no more
)

// All yields what next returns, page by page, until there is no more.
func All[T any](limit int, next func(left int) (page []T, more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := limit
		if left <= 0 {
			left = math.MaxInt
		}
		for more := true; more && left > 0; {
			var page []T
			var err error
			page, more, err = next(left)
			for _, item := range page { // also those before one that cannot be read
				if left--; !yield(item, nil) || left == 0 {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
		}
	}
}

// A Pace is how many rows the next page asks for.
type Pace struct{ rows int }

// For begins with a page that may be all that is asked for, of rows that are small.
func For(limit int) Pace {
	if limit <= 0 {
		limit = MaxRows
	}
	return Pace{min(max(limit, firstRows), MaxRows/2)}
}

// Next returns how many rows the next page asks for, at most left.
func (p *Pace) Next(left int) int {
	if p.rows == 0 {
		p.rows = firstRows
	}
	return min(p.rows, left)
}

// Took adapts the pace to a page of so many bytes.
func (p *Pace) Took(bytes int) {
	switch {
	case bytes < enough/4:
		p.rows = min(4*p.rows, MaxRows)
	case bytes > enough:
		p.rows = max(p.rows/4, 1)
	}
}
