package core

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// An IDSource makes UUIDv7 ids that ascend strictly within one process, even if the
// clock stops or goes back. An id has 48 bits of milliseconds, 26 bits of a counter
// that starts at random each millisecond, and 48 random bits.
type IDSource struct {
	mu    sync.Mutex
	ms    uint64
	count uint32
	pool  [480]byte
	free  int
}

// Follow makes later ids sort after k, so that a child sorts after a parent from a
// process with a faster clock.
func (s *IDSource) Follow(k posthouse.OrderKey, now time.Time) {
	ms := binary.BigEndian.Uint64(k[:]) >> 16
	if !k.Valid() || ms > uint64(max(now.Add(posthouse.Skew).UnixMilli(), 0)) {
		return
	}
	count := uint32(binary.BigEndian.Uint16(k[6:])&0xfff)<<14 | uint32(binary.BigEndian.Uint16(k[8:])&0x3fff)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ms > s.ms || ms == s.ms && count > s.count {
		s.ms, s.count = ms, count
	}
}

// New returns an id that sorts after all that it returned before.
func (s *IDSource) New(now time.Time) posthouse.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free < 8 {
		_, _ = rand.Read(s.pool[:]) // never fails: crypto/rand aborts the program instead
		s.free = len(s.pool)
	}
	r := s.pool[s.free-8 : s.free]
	s.free -= 8
	if ms := uint64(max(now.UnixMilli(), 0)); ms > s.ms {
		s.ms, s.count = ms, uint32(binary.BigEndian.Uint16(r)) // leaves 2^26-2^16 ids in the millisecond
	} else if s.count++; s.count == 1<<26 {
		s.ms, s.count = s.ms+1, 0
	}
	count := uint64(s.count)
	var k posthouse.OrderKey
	binary.BigEndian.PutUint64(k[:], s.ms<<16|7<<12|count>>14)
	binary.BigEndian.PutUint16(k[8:], 0x8000|uint16(count&0x3fff))
	copy(k[10:], r[2:])
	return k.ID()
}
