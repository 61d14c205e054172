package memindex

import (
	"iter"
	"slices"
	"sort"
)

// blockSize bounds what an insertion in the middle has to move. A list begins with memory for
// firstBlock items: the lists of a thread have few.
const (
	blockSize  = 256
	firstBlock = 8
)

// An ordered list keeps distinct items sorted, in blocks. Adding at the end takes
// constant time, adding elsewhere moves one block.
type ordered[T any] struct {
	cmp    func(a, b T) int
	blocks [][]T // all non-empty
	steps  *int  // counts the items that cursors pass, for tests; may be nil
}

// add inserts v, which is not in the list yet.
func (o *ordered[T]) add(v T) {
	last := len(o.blocks) - 1
	if last < 0 || o.cmp(o.end(last), v) < 0 {
		if last < 0 || len(o.blocks[last]) == blockSize {
			size := blockSize
			if last < 0 {
				size = firstBlock
			}
			o.blocks = append(o.blocks, append(make([]T, 0, size), v))
			return
		}
		o.blocks[last] = append(o.blocks[last], v)
		return
	}
	b, i, _ := o.find(v)
	block := slices.Insert(o.blocks[b], i, v)
	if len(block) > blockSize {
		half := len(block) / 2
		o.blocks = slices.Insert(o.blocks, b+1, slices.Clone(block[half:]))
		clear(block[half:])
		block = block[:half]
	}
	o.blocks[b] = block
}

// remove takes v out; it reports whether v was there.
func (o *ordered[T]) remove(v T) bool {
	b, i, ok := o.find(v)
	if !ok {
		return false
	}
	o.blocks[b] = slices.Delete(o.blocks[b], i, i+1)
	if len(o.blocks[b]) == 0 {
		o.blocks = slices.Delete(o.blocks, b, b+1)
	}
	return true
}

// end returns the last item of a block.
func (o *ordered[T]) end(b int) T { return o.blocks[b][len(o.blocks[b])-1] }

// find returns the block and the index where v is or belongs. Past the last item
// b is the number of blocks.
func (o *ordered[T]) find(v T) (b, i int, ok bool) {
	b = sort.Search(len(o.blocks), func(b int) bool { return o.cmp(o.end(b), v) >= 0 })
	if b == len(o.blocks) {
		return b, 0, false
	}
	i, ok = slices.BinarySearchFunc(o.blocks[b], v, o.cmp)
	return b, i, ok
}

// A cursor walks an ordered list. The list must not change while it walks.
type cursor[T any] struct {
	o    *ordered[T]
	b, i int
	down bool
}

// from returns a cursor at the first item for which passed reports true. Upwards,
// passed must be false up to some item and true from there on; downwards, the
// other way round.
func (o *ordered[T]) from(passed func(T) bool, down bool) *cursor[T] {
	c := &cursor[T]{o: o, down: down}
	if down {
		c.b = sort.Search(len(o.blocks), func(b int) bool { return !passed(o.blocks[b][0]) }) - 1
		if c.b >= 0 {
			c.i = sort.Search(len(o.blocks[c.b]), func(i int) bool { return !passed(o.blocks[c.b][i]) }) - 1
		}
		return c
	}
	c.b = sort.Search(len(o.blocks), func(b int) bool { return passed(o.end(b)) })
	if c.b < len(o.blocks) {
		c.i = sort.Search(len(o.blocks[c.b]), func(i int) bool { return passed(o.blocks[c.b][i]) })
	}
	return c
}

// all yields the items from the cursor on.
func (c *cursor[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for v, ok := c.item(); ok && yield(v); v, ok = c.item() {
			c.step()
		}
	}
}

// item returns the item at the cursor, false past the last one.
func (c *cursor[T]) item() (v T, ok bool) {
	if c.b < 0 || c.b >= len(c.o.blocks) {
		return v, false
	}
	return c.o.blocks[c.b][c.i], true
}

// step moves to the next item. The cursor must be at an item.
func (c *cursor[T]) step() {
	if c.o.steps != nil {
		*c.o.steps++
	}
	if c.down {
		if c.i--; c.i < 0 {
			if c.b--; c.b >= 0 {
				c.i = len(c.o.blocks[c.b]) - 1
			}
		}
		return
	}
	if c.i++; c.i == len(c.o.blocks[c.b]) {
		c.b, c.i = c.b+1, 0
	}
}
