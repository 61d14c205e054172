package framelog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// HeaderSize is the length of what stands before a frame's head, in bytes.
const HeaderSize = 16

// Limits of one frame, in bytes. A frame of the journal has all of a commit.
const (
	MaxHead = 256 << 20
	MaxBody = 1<<31 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Damage is a frame that is not whole: cut off, or with another checksum than it was
// written with.
type Damage struct {
	At  int64  // offset of the frame
	Why string // "is cut off"
}

func (d *Damage) Error() string { return fmt.Sprintf("the frame at byte %d %s", d.At, d.Why) }

// A Frame is one frame. Head and Body are valid until the next is read.
type Frame struct {
	At       int64 // its offset
	Head     []byte
	Body     []byte // nil if it was not asked for
	BodySize int
}

// Size returns the frame's length in the file, in bytes.
func (f *Frame) Size() int64 { return HeaderSize + int64(len(f.Head)) + int64(f.BodySize) }

// Seal fills in the lengths and checksums of a frame in b. The frame's head ends
// at byte HeaderSize+head.
func Seal(b []byte, head int) {
	SealBody(b, head)
	SealHead(b, head)
}

// SealBody fills in what depends on the body.
func SealBody(b []byte, head int) {
	body := b[HeaderSize+head:]
	binary.LittleEndian.PutUint32(b, uint32(head))
	binary.LittleEndian.PutUint32(b[4:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(body, castagnoli))
}

// SealHead fills in the head's checksum, which is last: it covers the body's.
func SealHead(b []byte, head int) {
	binary.LittleEndian.PutUint32(b[12:], headSum(b, head))
}

func headSum(b []byte, head int) uint32 {
	return crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[HeaderSize:HeaderSize+head])
}

// Parse reads the frame at the beginning of b, which may have more or, without bodies,
// less after its head. The frame shares b. Errors are of type [Damage].
func Parse(b []byte, bodies bool) (Frame, error) {
	var f Frame
	if len(b) < HeaderSize {
		return f, &Damage{0, "is cut off"}
	}
	head, body := int64(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint32(b[4:]))
	switch {
	case head == 0 || head > MaxHead || body > MaxBody:
		return f, &Damage{0, "has no lengths that can be"}
	case HeaderSize+head > int64(len(b)):
		return f, &Damage{0, "is cut off"}
	case binary.LittleEndian.Uint32(b[12:]) != headSum(b, int(head)):
		return f, &Damage{0, "has a head that differs from its checksum"}
	}
	f.Head, f.BodySize = b[HeaderSize:HeaderSize+head:HeaderSize+head], int(body)
	if !bodies {
		return f, nil
	}
	if HeaderSize+head+body > int64(len(b)) {
		return f, &Damage{0, "is cut off"}
	}
	f.Body = b[HeaderSize+head : HeaderSize+head+body : HeaderSize+head+body]
	if binary.LittleEndian.Uint32(b[8:]) != crc32.Checksum(f.Body, castagnoli) {
		return f, &Damage{0, "has a body that differs from its checksum"}
	}
	return f, nil
}

// A Scanner reads the frames of a file one after the other.
type Scanner struct {
	r      io.ReaderAt
	size   int64
	at     int64
	bodies bool
	window []byte // a part of the file
	from   int64  // where it begins
}

// window is how much of a file is read at once.
const window = 64 << 10

// Scan returns a scanner from an offset to the end, which is at size.
func Scan(r io.ReaderAt, from, size int64, bodies bool) *Scanner {
	return &Scanner{r: r, size: size, at: from, bodies: bodies}
}

// At returns the offset of the next frame.
func (s *Scanner) At() int64 { return s.at }

// Next returns the next frame, [io.EOF] at the end, a [*Damage], or an error of reading.
func (s *Scanner) Next() (Frame, error) {
	if s.at >= s.size {
		return Frame{}, io.EOF
	}
	b, err := s.need(HeaderSize)
	if err != nil {
		return Frame{}, err
	}
	if len(b) == HeaderSize {
		n := int64(binary.LittleEndian.Uint32(b))
		if s.bodies {
			n += int64(binary.LittleEndian.Uint32(b[4:]))
		}
		if n <= s.size-s.at { // else it is cut off
			b, err = s.need(HeaderSize + n)
			if err != nil {
				return Frame{}, err
			}
		}
	}
	f, err := Parse(b, s.bodies)
	if d, ok := err.(*Damage); ok {
		d.At += s.at
		return f, err
	}
	f.At = s.at
	if s.at+f.Size() > s.size {
		return f, &Damage{s.at, "is cut off"}
	}
	s.at += f.Size()
	return f, nil
}

// need returns the next n bytes, fewer at the end of the file.
func (s *Scanner) need(n int64) ([]byte, error) {
	n = min(n, s.size-s.at)
	if off := s.at - s.from; off >= 0 && off+n <= int64(len(s.window)) {
		return s.window[off : off+n], nil
	}
	want := min(max(n, window), s.size-s.at)
	if int64(cap(s.window)) < want {
		s.window = make([]byte, want)
	}
	s.window, s.from = s.window[:want], s.at
	if k, err := s.r.ReadAt(s.window, s.at); int64(k) < want {
		s.window = s.window[:0]
		return nil, fmt.Errorf("read %d of %d bytes: %w", k, want, err)
	}
	return s.window[:n], nil
}
