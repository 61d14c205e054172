package filestore

import (
	"cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
)

const framelogHeader = framelog.HeaderSize

// A journal is the files that commits go to first. Only the leader of the queue uses it.
type journal struct {
	current *segment
	last    uint64 // number of the newest commit, of an entry or a slot
	buf     []byte // of a group; reused
}

// A segment is one file of the journal, with what has to be drained from it.
type segment struct {
	number  uint64
	file    file // nil once it is sealed
	end     int64
	entries []*entry
	slots   map[posthouse.SlotKey]slot // as the segment's last write left them
	removal bool                       // one began
	drained bool                       // all of it is in the logs
}

func (g *segment) empty() bool { return len(g.entries) == 0 && len(g.slots) == 0 && !g.removal }

// newSegment makes a durable segment that begins with the commit first. before is the digest
// of all that was committed before it.
func (d *directory) newSegment(number, first uint64, before framelog.Digest) (file, error) {
	name := segmentFile(number)
	f, err := d.system.Create(name)
	if err != nil {
		return nil, err
	}
	head := framelog.Segment{Number: number, First: first, Before: before}
	_, err = f.WriteAt(head.Append(nil), 0)
	if err == nil {
		err = cmp.Or(f.Sync(), d.system.SyncDir(journalDir))
		if err != nil && !isFull(err) {
			err = d.poison(err)
		}
	}
	if err != nil {
		_ = f.Close()
		_ = d.system.Remove(name) // it may stay: nothing refers to it, and the next one takes its name
		return nil, err
	}
	return f, nil
}

// seal begins a new segment and hands the current one to be drained.
func (s *Store) seal() error {
	old := s.journal.current
	f, err := s.dir.newSegment(old.number+1, s.journal.last+1, s.digest)
	if err != nil {
		return err
	}
	end, err := f.Size()
	if err != nil {
		_ = f.Close()
		return s.dir.poison(err)
	}
	_ = old.file.Close() // all of it was synced
	old.file = nil
	s.journal.current = &segment{number: old.number + 1, file: f, end: end}
	s.drains.add(old)
	return nil
}

// How many segments may wait to be drained before commits wait for them, and how many may
// while another process reads the journal.
const (
	maxSealed     = 4
	maxSealedRead = 32
)

// write makes a group durable in the journal. An error that leaves the outcome open is
// [posthouse.ErrUnknown], and the store takes no more writes.
func (s *Store) write(frames [][]byte) error {
	if s.journal.current.end >= s.opts.segment {
		if n := s.drains.waiting(); n >= maxSealedRead || n >= maxSealed && !s.dir.held() {
			if err := s.drainOldest(); err != nil {
				return err
			}
		}
		if err := s.seal(); err != nil {
			return s.dir.wrap("begin a segment of the journal", err)
		}
		s.startDraining()
	}
	g := s.journal.current
	buf := framelog.AppendGroup(s.journal.buf[:0], s.journal.last+1, frames...)
	s.journal.buf = buf
	if cap(buf) > 4<<20 {
		s.journal.buf = nil
	}
	if _, err := g.file.WriteAt(buf, g.end); err != nil {
		cut := g.file.Truncate(g.end)
		if cut == nil && isFull(err) {
			return s.dir.wrap("write to the journal", err)
		}
		s.dir.poison(err)
		return s.dir.unknown(err)
	}
	if !s.opts.early {
		if err := g.file.Sync(); err != nil {
			s.dir.poison(err)
			return s.dir.unknown(err)
		}
	}
	g.end += int64(len(buf))
	s.journal.last += uint64(len(frames))
	s.commits.Add(1)
	return nil
}
