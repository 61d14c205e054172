package natsstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// pageEntries bounds a page of entries. Their messages are asked for at once.
const pageEntries = 32

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	size := 4
	next := func(n int) ([]*posthouse.Entry, bool, error) {
		page, more, err := s.view.index.Entries(ctx, thread, &r, min(n, size))
		size = pageEntries
		if err != nil {
			return nil, false, err
		}
		full, err := s.fetch(ctx, page, !r.Headers)
		return full, more, away.Read(err)
	}
	return memindex.Pages(r.Limit, next, func(e *posthouse.Entry) *posthouse.Entry { return e })
}

// fetch returns the entries of a page. It leaves out those that were removed since.
func (s *Store) fetch(ctx context.Context, page []*entry, bodies bool) (full []*posthouse.Entry, err error) {
	frames, err := s.frames(ctx, page, bodies)
	for _, f := range frames {
		if f != nil {
			full = append(full, &f.Entry)
		}
	}
	return full, err
}

// frames returns what the log has of entries, nil for those that were removed since.
func (s *Store) frames(ctx context.Context, page []*entry, bodies bool) ([]*framelog.Entry, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type wanted struct {
		once sync.Once
		m    *message
		err  error
	}
	full, messages := make([]*framelog.Entry, len(page)), map[uint64]*wanted{}
	for _, e := range page {
		messages[entryPlace(e).message] = &wanted{}
	}
	var group sync.WaitGroup
	one := func(i int) {
		w := messages[entryPlace(page[i]).message]
		w.once.Do(func() { w.m, w.err = s.streams.message(ctx, entryPlace(page[i]).message) })
		f, err := s.frame(ctx, page[i], w.m, w.err, bodies)
		if err != nil {
			cancel(err)
		}
		full[i] = f
	}
	for i := range page[min(1, len(page)):] {
		group.Go(func() { one(i + 1) })
	}
	if len(page) > 0 {
		one(0)
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return full, nil
}

// message reads a message of the log.
func (s *streams) message(ctx context.Context, seq uint64) (*message, error) {
	m, err := s.getMessage(ctx, s.log, seq)
	if err != nil {
		return nil, err
	}
	r, err := s.receive(ctx, m.Subject, seq, m.Data)
	if err != nil {
		return nil, err
	}
	return r.msg, nil
}

// frame takes an entry out of its message, which was read with an error or not. The entry
// may have been written again or removed since it was looked up.
func (s *Store) frame(ctx context.Context, e *entry, m *message, err error, bodies bool) (*framelog.Entry, error) {
	at := *entryPlace(e)
	for {
		var f *framelog.Entry
		if err == nil {
			f, err = s.streams.takeOut(ctx, e, m, at.part, bodies)
		}
		if err == nil || !errors.Is(err, posthouse.ErrCorrupt) {
			return f, err
		}
		if cerr := s.refresh(ctx); cerr != nil {
			return nil, cerr
		}
		s.view.index.RLock()
		now := s.view.index.Entry(e.Thread, e.Seq)
		s.view.index.RUnlock()
		if now == nil || now.Hash != e.Hash {
			return nil, nil
		}
		if *entryPlace(now) == at {
			return nil, err
		}
		at = *entryPlace(now)
		m, err = s.streams.message(ctx, at.message)
	}
}

func (s *streams) takeOut(ctx context.Context, want *entry, m *message, i int, bodies bool) (*framelog.Entry, error) {
	if i >= len(m.parts) {
		return nil, s.lost("entry %d of thread %q is not in its message", want.Seq, want.Thread)
	}
	p := &m.parts[i]
	frame := p.frame
	if bodies && len(p.chunks) > 0 {
		body, err := s.readChunks(ctx, p.chunks)
		if err != nil {
			return nil, err
		}
		frame = append(frame[:len(frame):len(frame)], body...)
	}
	parsed, err := framelog.Parse(frame, bodies)
	var f framelog.Entry
	if err == nil {
		err = f.Read(parsed.Head)
	}
	if err == nil && (f.Entry.Thread != want.Thread || f.Entry.Seq != want.Seq || f.Entry.Hash != want.Hash) {
		err = fmt.Errorf("it is entry %d of thread %q", f.Entry.Seq, f.Entry.Thread)
	}
	if err == nil && bodies {
		err = f.Fill(parsed.Body)
	}
	if err != nil {
		return nil, s.lost("entry %d of thread %q: %v", want.Seq, want.Thread, err)
	}
	return &f, nil
}

// one returns an entry, nil if it was removed since.
func (s *Store) one(ctx context.Context, e *entry) (*posthouse.Entry, error) {
	full, err := s.fetch(ctx, []*entry{e}, true)
	if err != nil || len(full) == 0 {
		return nil, err
	}
	return full[0], nil
}

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	return s.view.index.Find(ctx, id)
}

// List implements [posthouse.Store].
func (s *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return s.view.index.List(ctx, q)
}

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return s.view.index.Threads(ctx, q)
}

// Check implements [posthouse.Checker]. It reads each entry from the server, folds each
// log into a summary, and compares the summary and the index with it. It reads each slot
// too, and compares the log with what it must have.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return away.Checks(func(yield func(error) bool) {
		for err := range s.view.index.Check(ctx, func(e *entry) (*posthouse.Entry, error) { return s.one(ctx, e) }) {
			if !yield(err) {
				return
			}
		}
		for _, err := range s.Slots(ctx, "") {
			if err != nil && !yield(err) {
				return
			}
		}
		if err := s.checkStream(ctx); err != nil {
			yield(err)
		}
	})
}

// checkStream looks for messages that the server does not have any more.
func (s *Store) checkStream(ctx context.Context) error {
	info, err := s.streams.streamInfo(ctx)
	if err != nil {
		return err
	}
	s.view.index.RLock()
	live, applied := uint64(len(s.view.live)), s.view.applied
	s.view.index.RUnlock()
	if info.State.Msgs < live && info.State.LastSeq <= applied || info.State.LastSeq < applied {
		return s.streams.lost("the log has %d messages up to %d, and not the %d up to %d that it had", info.State.Msgs, info.State.LastSeq, live, applied)
	}
	w, err := s.witness.read(ctx)
	if err != nil {
		return err
	}
	return s.slots.verify(ctx, &w)
}
