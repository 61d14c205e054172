package natsstore

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/framelog"
)

// A message is what one message of the log's stream says: entries of one thread, written
// for the first time or again without what was removed, and what is gone. It is one byte
// for its form, the fields, and a CRC-32C of both.
type message struct {
	thread  string
	gone    []uint64 // messages, by sequence in the stream, with content that is no longer valid
	removal *removal
	parts   []part
}

// A removal takes entries of the thread out of the index.
type removal struct {
	all         bool
	from, below uint64
	summary     []byte // the thread's, for logs that do not begin at their first entry; empty with all
}

// A part is one entry as a frame of package framelog. A frame's commit is 0 unless it is
// written again. Large bodies are not in the frame but in chunks.
type part struct {
	frame  []byte
	chunks []uint64
}

// The forms of a message.
const (
	formWhole   = 1
	formChunked = 2 // its chunks have a message of formWhole
)

// maxInline is how large the bodies of an entry may be that are in the log's message.
// Each process receives these messages, so it bounds what a large state costs others.
const maxInline = 32 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func seal(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)) }

// unseal returns the bytes before the checksum.
func unseal(b []byte) ([]byte, error) {
	n := len(b) - 4
	if n < 1 || binary.LittleEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return nil, posthouse.Corrupt("it differs from its checksum")
	}
	return b[:n], nil
}

func appendSeqs(b []byte, seqs []uint64) []byte {
	b = canon.AppendUint(b, uint64(len(seqs)))
	last := uint64(0)
	for _, s := range seqs {
		b = canon.AppendInt(b, int64(s-last))
		last = s
	}
	return b
}

func readSeqs(r *canon.Reader) (seqs []uint64) {
	last := uint64(0)
	for range r.Items() {
		last += uint64(r.Int())
		seqs = append(seqs, last)
	}
	return seqs
}

func (m *message) encode() []byte {
	n := 64 + len(m.thread) + 5*len(m.gone)
	for _, p := range m.parts {
		n += 8 + len(p.frame) + 5*len(p.chunks)
	}
	b := append(make([]byte, 0, n), formWhole)
	b = appendSeqs(canon.AppendString(b, m.thread), m.gone)
	if m.removal == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		if m.removal.all {
			b[len(b)-1] = 2
		}
		b = canon.AppendUint(canon.AppendUint(b, m.removal.from), m.removal.below)
		b = canon.AppendBytes(b, m.removal.summary)
	}
	b = canon.AppendUint(b, uint64(len(m.parts)))
	for _, p := range m.parts {
		b = canon.AppendBytes(appendSeqs(b, p.chunks), p.frame)
	}
	return seal(b)
}

// encodeChunked encodes a message that has its bytes in chunks.
func encodeChunked(chunks []uint64) []byte { return seal(appendSeqs([]byte{formChunked}, chunks)) }

// decode reads a message, or the chunks that have it. The message shares data.
func decode(data []byte) (m *message, chunks []uint64, err error) {
	b, err := unseal(data)
	if err != nil {
		return nil, nil, err
	}
	r := canon.NewReader(b)
	switch form := r.Byte(); form {
	case formChunked:
		chunks = readSeqs(r)
	case formWhole:
		m = &message{thread: r.String(), gone: readSeqs(r)}
		if kind := r.Byte(); kind > 0 {
			m.removal = &removal{all: kind == 2, from: r.Uint(), below: r.Uint(), summary: r.Bytes()}
		}
		for range r.Items() {
			m.parts = append(m.parts, part{chunks: readSeqs(r), frame: r.Bytes()})
		}
	default:
		r.Fail("form %d", form)
	}
	if err := r.Done(); err != nil {
		return nil, nil, posthouse.Corrupt("it does not decode: %v", err)
	}
	return m, chunks, nil
}

// allChunks returns the chunks of all parts.
func (m *message) allChunks() (all []uint64) {
	for _, p := range m.parts {
		all = append(all, p.chunks...)
	}
	return all
}

// read reads the head of a part's frame.
func (p *part) read() (e framelog.Entry, err error) {
	f, err := framelog.Parse(p.frame, len(p.chunks) == 0)
	if err == nil {
		err = e.Read(f.Head)
	}
	return e, err
}

// headless returns how long a frame is without its body.
func headLength(frame []byte) int {
	return framelog.HeaderSize + int(binary.LittleEndian.Uint32(frame))
}

// A place says where an entry is: in which message of the log's stream, and in which
// part.
type place struct {
	message uint64
	part    int
}

// An item tells a message of the log's stream from every other, for a digest.
func itemOf(seq uint64, data []byte) posthouse.Hash {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seq)
	return canon.Hash("posthouse/nats/1", b[:], data)
}
