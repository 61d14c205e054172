package delta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Bounds of what Unpack accepts. Pack keeps within them: a pack of more than
// MaxPack bytes is not made, and one that would shrink beyond the ratio is
// stored as it is.
const (
	MaxPack  = 1 << 30 // bytes unpacked
	maxRatio = 200     // unpacked to packed, beyond freeRoom
	freeRoom = 4 << 20
	maxItems = 1 << 16
)

const (
	packStored = 0
	packZstd   = 1
)

// ErrPack is wrapped by every error of [Packer.Unpack].
var ErrPack = errors.New("malformed pack")

// A Packer joins byte strings into one compressed pack and takes them apart
// again. The zero value is ready; it may be used by several goroutines at once.
type Packer struct {
	once sync.Once
	enc  *zstd.Encoder
	dec  *zstd.Decoder
	err  error
}

func (p *Packer) init() error {
	p.once.Do(func() {
		p.enc, p.err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false))
		if p.err == nil {
			p.dec, p.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxPack), zstd.WithDecodeAllCapLimit(true))
		}
	})
	return p.err
}

// Pack returns the items as one pack: how many, how long each, and their bytes
// compressed together. It fails beyond [MaxPack] bytes or 65,536 items.
func (p *Packer) Pack(items [][]byte) ([]byte, error) {
	if err := p.init(); err != nil {
		return nil, err
	}
	size := 0
	for _, it := range items {
		size += len(it)
	}
	if size > MaxPack || len(items) > maxItems {
		return nil, fmt.Errorf("delta: a pack of %d items and %d bytes is too large", len(items), size)
	}
	raw := make([]byte, 0, size)
	head := binary.AppendUvarint([]byte{packZstd}, uint64(len(items)))
	for _, it := range items {
		head = binary.AppendUvarint(head, uint64(len(it)))
		raw = append(raw, it...)
	}
	out := p.enc.EncodeAll(raw, head)
	if n := len(out) - len(head); n >= size || size > freeRoom+maxRatio*n {
		out = append(head, raw...)
		out[0] = packStored
	}
	return out, nil
}

// Unpack returns what Pack was given. Its allocations are bounded by the pack's
// own length before anything is unpacked, and the lengths declared are the
// lengths found. Errors wrap [ErrPack].
func (p *Packer) Unpack(pack []byte) ([][]byte, error) {
	if err := p.init(); err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrPack, fmt.Sprintf(format, args...))
	}
	if len(pack) == 0 {
		return nil, bad("empty")
	}
	method, rest := pack[0], pack[1:]
	next := func() (uint64, bool) {
		u, n := binary.Uvarint(rest)
		if n <= 0 {
			return 0, false
		}
		rest = rest[n:]
		return u, true
	}
	count, ok := next()
	if !ok || count > maxItems || count > uint64(len(rest)) {
		return nil, bad("bad number of items")
	}
	sizes, size := make([]int, count), 0
	for i := range sizes {
		n, ok := next()
		if !ok || n > MaxPack || size+int(n) > MaxPack {
			return nil, bad("bad length of item %d", i)
		}
		sizes[i] = int(n)
		size += int(n)
	}
	var raw []byte
	switch method {
	case packStored:
		raw = append([]byte(nil), rest...)
	case packZstd:
		if size > freeRoom+maxRatio*len(rest) {
			return nil, bad("%d bytes would become %d", len(rest), size)
		}
		var err error
		raw, err = p.dec.DecodeAll(rest, make([]byte, 0, size))
		if err != nil {
			return nil, bad("%v", err)
		}
	default:
		return nil, bad("unknown method %d", method)
	}
	if len(raw) != size {
		return nil, bad("%d bytes where %d were declared", len(raw), size)
	}
	items := make([][]byte, count)
	for i, n := range sizes {
		items[i], raw = raw[:n:n], raw[n:]
	}
	return items, nil
}
