package filestore

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
)

// Remove implements [posthouse.Store]. It writes a new log of the thread without the
// removed bytes, and renames it over the old one, so that a process killed on the way
// leaves one of the two.
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	s.dir.awaitReaders(ctx)
	err = s.submit(ctx, "remove from the log", &request{alone: func() error {
		done, err = s.remove(r)
		return err
	}})
	if err != nil {
		return posthouse.Removed{}, err
	}
	return done, nil
}

// remove runs alone.
func (s *Store) remove(r posthouse.Removal) (done posthouse.Removed, err error) {
	info := s.index.Info(r.Thread)
	slots := 0
	if r.All {
		for key := range s.slots {
			if key.Thread == r.Thread {
				slots++
			}
		}
	}
	if info == nil && slots == 0 {
		return done, nil
	}
	s.drains.wait()
	if err := s.drainAll(); err != nil {
		return done, err
	}
	begins := framelog.Removal{Commit: s.journal.last + 1, Thread: r.Thread}
	if err := s.write([][]byte{begins.Append(nil)}); err != nil {
		return done, err
	}
	s.journal.current.removal = true
	if slots > 0 {
		if err := s.removeSlots(r.Thread); err != nil {
			return done, err
		}
	}
	if info != nil {
		done, err = s.removeEntries(r)
	}
	if err == nil { // who follows the journal sees by this that logs have changed
		err = s.drainAll()
	}
	return done, err
}

// removeSlots forgets the slots of a thread and rewrites the slots' log.
func (s *Store) removeSlots(thread string) error {
	s.index.Lock()
	kept := map[posthouse.SlotKey]*slot{}
	for key, have := range s.slots {
		if key.Thread != thread {
			kept[key] = have
		}
	}
	old := s.slots
	s.slots = kept
	s.index.Unlock()
	err := s.rewriteSlots()
	if err != nil {
		s.index.Lock()
		s.slots = old
		s.index.Unlock()
		return err
	}
	for key, have := range old {
		if key.Thread == thread {
			s.digest.Drop(have.hash(key))
		}
	}
	return nil
}

func (s *Store) removeEntries(r posthouse.Removal) (done posthouse.Removed, err error) {
	name := threadFile(r.Thread)
	goes := func(e *framelog.Entry) bool {
		return r.All || r.Below > 0 && e.Entry.Seq >= r.From && e.Entry.Seq < r.Below
	}
	strip := map[uint64][]int{} // records by entry
	if !r.All && r.Below == 0 {
		for _, ref := range r.Bodies {
			strip[ref.Seq] = append(strip[ref.Seq], ref.Record)
		}
	}
	done, err = s.dir.count(name, goes, strip)
	if err != nil || done == (posthouse.Removed{}) && !r.All {
		return done, err
	}
	if r.All {
		if err := s.dir.system.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, err
		}
		s.index.Lock()
		s.forget(s.index.RemoveAll(r.Thread))
		delete(s.logs, r.Thread)
		s.index.Unlock()
		if err := s.dir.system.SyncDir(path.Dir(name)); err != nil {
			s.dir.poison(err)
			return done, s.dir.unknown(err)
		}
		return done, nil
	}
	return done, s.rewrite(r.Thread, goes, strip, func() {
		if r.Below > 0 {
			s.forget(s.index.RemoveEntries(r.Thread, r.From, r.Below))
		}
	})
}

// forget takes entries out of the digest.
func (s *state) forget(gone []*entry) {
	for _, e := range gone {
		s.digest.Drop(e.Hash)
	}
}

// count counts what a removal takes.
func (d *directory) count(name string, goes func(*framelog.Entry) bool, strip map[uint64][]int) (done posthouse.Removed, err error) {
	err = d.scanLog(name, false, func(e *framelog.Entry, f *framelog.Frame) error {
		if goes(e) {
			done.Entries++
			done.Bytes += int64(len(e.Entry.Header) + len(e.Entry.Sig))
		}
		for i, n := range e.Sizes {
			if n > 0 && (goes(e) || slices.Contains(strip[e.Entry.Seq], i)) {
				done.Bodies++
				done.Bytes += int64(n)
			}
		}
		return nil
	})
	return done, err
}

// scanLog calls f for each entry of a thread's log.
func (d *directory) scanLog(name string, bodies bool, f func(*framelog.Entry, *framelog.Frame) error) (err error) {
	file, err := d.system.Open(name, false)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return err
	}
	scan := framelog.Scan(file, 0, size, bodies)
	for first := true; ; first = false {
		frame, err := scan.Next()
		if err == io.EOF {
			return nil
		}
		var e framelog.Entry
		if err == nil && !first {
			err = e.Read(frame.Head)
		}
		if err != nil {
			return d.corrupt(name, err)
		}
		if first {
			continue
		}
		if err := f(&e, &frame); err != nil {
			return err
		}
	}
}

// rewrite writes a thread's log without entries that go and bodies that are stripped.
// It calls then, with the lock held, when the new log has taken the old one's place.
// The log begins with the summary, so the entries that stay need not lead to it.
func (s *Store) rewrite(thread string, goes func(*framelog.Entry) bool, strip map[uint64][]int, then func()) error {
	name := threadFile(thread)
	summary, _ := s.index.Info(thread).MarshalBinary() // never fails
	places := map[uint64]place{}
	var w writer
	err := s.replaceThen(name, path.Dir(name), func(f file) error {
		w = writer{f: f}
		head := framelog.Thread{Name: thread, Summary: summary}
		if err := w.write(head.Append(nil)); err != nil {
			return err
		}
		err := s.dir.scanLog(name, true, func(e *framelog.Entry, frame *framelog.Frame) error {
			if goes(e) {
				return nil
			}
			if err := e.Fill(frame.Body); err != nil {
				return err
			}
			for _, i := range strip[e.Entry.Seq] {
				if i >= 0 && i < len(e.Entry.Bodies) {
					e.Entry.Bodies[i] = nil
				}
			}
			s.leading(e)
			b, head := e.Append(nil)
			places[e.Entry.Seq] = place{at: w.end, head: uint32(head), body: uint32(len(b) - head - framelogHeader)}
			return w.write(b)
		})
		return cmp.Or(err, w.flush())
	}, func() {
		then()
		for seq, at := range places {
			*entryPlace(s.index.Entry(thread, seq)) = at
		}
		s.version++
		s.logs[thread] = &logFile{end: w.end, version: s.version}
	})
	return err
}

// leading leaves of an entry's ids those that lead to it, so that the log need not have
// what took the others away.
func (s *state) leading(e *framelog.Entry) {
	have := s.index.Entry(e.Entry.Thread, e.Entry.Seq)
	var ids []posthouse.ID
	var headers []bool
	for _, i := range s.index.Leads(have) {
		if at := slices.Index(e.IDs, have.IDs[i]); at >= 0 {
			ids, headers = append(ids, e.IDs[at]), append(headers, e.Headers[at])
		}
	}
	e.IDs, e.Headers, e.Drop, e.Summary = ids, headers, nil, nil
}

// replaceThen puts a new file in the place of one, and calls then with the index's lock
// as soon as it is there. A full disk changes nothing.
func (s *Store) replaceThen(name, dir string, write func(file) error, then func()) error {
	f, err := s.dir.system.Create(name + freshSuffix)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
		if err != nil {
			s.dir.poison(err)
		}
	}
	err = cmp.Or(err, f.Close())
	if err != nil {
		_ = s.dir.system.Remove(name + freshSuffix)
		return err
	}
	s.index.Lock()
	err = s.dir.system.Rename(name+freshSuffix, name)
	if err == nil {
		then()
	}
	s.index.Unlock()
	if err == nil {
		err = s.dir.system.SyncDir(dir)
	}
	if err != nil {
		s.dir.poison(err)
		return s.dir.unknown(err)
	}
	return nil
}

// A writer writes a new file in large pieces.
type writer struct {
	f    file
	buf  []byte
	done int64 // written
	end  int64 // with what is in buf
}

func (w *writer) write(b []byte) error {
	w.buf = append(w.buf, b...)
	w.end += int64(len(b))
	if len(w.buf) < 1<<20 {
		return nil
	}
	return w.flush()
}

func (w *writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.f.WriteAt(w.buf, w.done)
	w.done, w.buf = w.end, w.buf[:0]
	return err
}
