package powercut

import "slices"

// pieceSize is what a disk writes whole or not at all.
const pieceSize = 4096

// A block is a piece of a file. It never changes; a write makes another.
type block [pieceSize]byte

// A content is what is in a file. A nil block is zeros.
type content struct {
	size   int64
	blocks []*block
}

func (c *content) clone() content { return content{c.size, slices.Clone(c.blocks)} }

// put sets a block of a file that reaches to end at least.
func (c *content) put(i int, b *block, end int64) {
	if missing := i + 1 - len(c.blocks); missing > 0 {
		c.blocks = append(c.blocks, make([]*block, missing)...)
	}
	c.blocks[i], c.size = b, max(c.size, end)
}

// truncate cuts the content off, or extends it with zeros.
func (c *content) truncate(size int64) {
	if size < c.size {
		whole := int(size / pieceSize)
		if rest := size % pieceSize; rest > 0 && whole < len(c.blocks) && c.blocks[whole] != nil {
			b := *c.blocks[whole]
			clear(b[rest:])
			c.blocks[whole] = &b
			whole++
		}
		c.blocks = c.blocks[:min(whole, len(c.blocks))]
	}
	c.size = size
}

// read copies from an offset on, and returns how much there was.
func (c *content) read(to []byte, off int64) int {
	n := int(min(int64(len(to)), c.size-off))
	if n <= 0 {
		return 0
	}
	to = to[:n]
	for len(to) > 0 {
		i, from := int(off/pieceSize), int(off%pieceSize)
		part := to[:min(len(to), pieceSize-from)]
		if i < len(c.blocks) && c.blocks[i] != nil {
			copy(part, c.blocks[i][from:])
		} else {
			clear(part)
		}
		to, off = to[len(part):], off+int64(len(part))
	}
	return n
}

// A piece is one change of a file that is not durable: a block as it was after a write,
// or a truncation.
type piece struct {
	mark     uint64
	index    int
	block    *block
	end      int64 // how far the file reached with it; its size after a truncation
	truncate bool
}

func (p *piece) apply(c *content) {
	if p.truncate {
		c.truncate(p.end)
	} else {
		c.put(p.index, p.block, p.end)
	}
}
