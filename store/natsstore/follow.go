package natsstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/replay"
)

// begin reads all of the log, and then follows it.
func (s *Store) begin(ctx context.Context) error {
	var f *feed
	err := errRace
	for range 5 { // another process may delete removed messages at the same time
		f, err = s.load(ctx)
		if !errors.Is(err, errRace) {
			break
		}
	}
	if err != nil {
		return err
	}
	if !s.opts.ReadOnly && len(s.view.left.messages) > 0 {
		err = s.finish(ctx, s.view.left)
		if err != nil {
			f.messages.Stop()
			return err
		}
	}
	s.work.Go(func() { s.follow(f) })
	if s.streams.own != nil && !s.opts.ReadOnly {
		s.work.Go(s.keepWriting)
	}
	return nil
}

// errRace says that the log was not what the witness says, and that the witness is new.
var errRace = errors.New("another process removes from the log meanwhile")

// load reads what is there, verifies it against the witness, and indexes it.
func (s *Store) load(ctx context.Context) (*feed, error) {
	w, err := s.witness.read(ctx)
	if err != nil {
		return nil, err
	}
	info, err := s.streams.streamInfo(ctx)
	if err != nil {
		return nil, err
	}
	f, err := s.streams.feed(ctx, 1)
	if err != nil {
		return nil, err
	}
	l := loading{s: s, witness: w}
	s.view.empty(info.State.LastSeq)
	if info.State.Msgs > 0 {
		err = l.collect(ctx, f, info)
	}
	if err == nil {
		err = l.verify(ctx, info.State.LastSeq)
	}
	if err == nil {
		err = l.index()
	}
	if err != nil {
		f.messages.Stop()
		return nil, err
	}
	return f, nil
}

// loading is a log that is read from its beginning.
type loading struct {
	s       *Store
	witness witness
	all     []*received
	gone    map[uint64]uint64 // messages that do not count, with that which says so
	judged  uint64            // the newest message that was searched for ids
}

// collect receives the messages that are there now. In a cluster a server that was away gives
// what it has of the stream before it has caught up: those up to the last one are to come.
func (l *loading) collect(ctx context.Context, f *feed, now *jetstream.StreamInfo) error {
	last := uint64(0)
	if now.Config.Replicas > 1 {
		last = now.State.LastSeq
	}
	return l.s.streams.drain(ctx, f.messages, last, func(m jetstream.Msg, meta *jetstream.MsgMetadata) error {
		r, err := l.s.streams.receive(ctx, m.Subject(), meta.Sequence.Stream, m.Data())
		if err != nil {
			return err
		}
		for i := range r.msg.parts { // let go of the bodies
			p := &r.msg.parts[i]
			p.frame = slices.Clone(p.frame[:headLength(p.frame)])
			if err := r.parts[i].Read(p.frame[framelog.HeaderSize:]); err != nil {
				return err
			}
		}
		l.all = append(l.all, r)
		return nil
	})
}

// stalls is how often a server may let [patience] pass, and answer something else, without a
// message that it says it has. It skips what it cannot read, and then waits for more.
const (
	stalls   = 3
	patience = 500 * time.Millisecond
)

// verify compares what was received with the witness: up to the witness's message the
// digest must be the same, and after it no message may be missing.
func (l *loading) verify(ctx context.Context, last uint64) error {
	l.gone = map[uint64]uint64{}
	w := &l.witness
	for _, r := range l.all {
		for _, g := range r.msg.gone {
			l.gone[g] = r.seq
		}
		last = max(last, r.seq)
	}
	var digest framelog.Digest
	next := w.seq + 1
	for _, r := range l.all {
		if by, ok := l.gone[r.seq]; r.seq <= w.seq && (!ok || by > w.seq) {
			digest.Add(r.item)
		}
		if r.seq == next {
			next++
		}
	}
	var problem error
	switch {
	case last < w.seq:
		problem = l.s.streams.lost("the log ends at message %d, and had message %d", last, w.seq)
	case digest != w.digest:
		problem = l.s.streams.lost("the log has %d messages up to message %d, and not the %d that it had", digest.Count, w.seq, w.digest.Count)
	case next <= last:
		problem = l.s.streams.lost("message %d of the log is missing", next)
	default:
		return l.s.slots.verify(ctx, w)
	}
	now, err := l.s.witness.read(ctx)
	if err == nil && now != *w {
		return errRace
	}
	return problem
}

// index applies the messages in the order of commits: an entry that was written again
// comes where it was first.
func (l *loading) index() error {
	s := l.s
	type written struct {
		r      *received
		part   int // -1: a removal
		commit uint64
	}
	newest := map[uint64]written{} // of entries that were written again
	var all []written
	last := s.view.applied
	for _, r := range l.all {
		s.view.left.chunks = append(s.view.left.chunks, s.view.count(r)...)
		if _, ok := l.gone[r.seq]; ok {
			s.view.left.messages = append(s.view.left.messages, r.seq)
			continue
		}
		if r.msg.removal != nil {
			all = append(all, written{r, -1, commitOf(r.seq, 0)})
		}
		for i := range r.parts {
			if c := r.parts[i].Commit; c != 0 {
				newest[c] = written{r, i, c}
			} else {
				all = append(all, written{r, i, commitOf(r.seq, i)})
			}
		}
	}
	s.view.applied = max(last, s.view.applied)
	for _, w := range newest {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b written) int { return cmp.Compare(a.commit, b.commit) })
	infos := map[string]*posthouse.ThreadInfo{}
	s.view.index.Lock()
	defer s.view.index.Unlock()
	for _, w := range all {
		if w.part < 0 {
			if err := l.remove(w.r, infos); err != nil {
				return err
			}
			continue
		}
		if err := l.add(w.r, w.part, w.commit, infos); err != nil {
			return err
		}
	}
	for _, info := range infos {
		s.view.index.Summarise(info)
	}
	s.view.index.Wake()
	return nil
}

// remove takes over the summary that a removal brings. The removed messages are not
// there.
func (l *loading) remove(r *received, infos map[string]*posthouse.ThreadInfo) error {
	m := r.msg.removal
	if m.all || l.s.view.subjects[r.msg.thread].removal != r.seq {
		return nil
	}
	info := &posthouse.ThreadInfo{}
	if err := info.UnmarshalBinary(m.summary); err != nil {
		return l.s.streams.lost("message %d of the log: %v", r.seq, err)
	}
	infos[r.msg.thread] = info
	return nil
}

// add indexes an entry.
func (l *loading) add(r *received, part int, commit uint64, infos map[string]*posthouse.ThreadInfo) error {
	s, e := l.s, &r.parts[part]
	if _, ok := s.view.voids[r.seq]; ok {
		return nil
	}
	if commit>>8 == r.seq && l.judged != r.seq { // the message brought it
		l.judged = r.seq
		if err := s.view.taken(r.parts); err != nil {
			s.view.voids[r.seq] = err
			return nil
		}
	}
	e.Commit = commit
	thread := e.Entry.Thread
	if commit > commitOf(s.view.subjects[thread].removal, 0) { // else the removal has the summary
		info := infos[thread]
		if info == nil {
			info = &posthouse.ThreadInfo{}
			infos[thread] = info
		}
		if err := replay.Follow(info, e); err != nil {
			return s.streams.lost("message %d of the log: %v", r.seq, err)
		}
	}
	return replay.Add(s.view.index, &s.view.headers, e, place{r.seq, part}, nil)
}

// follow applies what is appended to the stream, until the store closes.
func (s *Store) follow(f *feed) {
	for {
		err := s.followFeed(f)
		f.messages.Stop()
		if s.ctx.Err() != nil || s.lifecycle.Closed() {
			return
		}
		var ours *posthouse.Error
		if errors.As(err, &ours) && !isLost(err) {
			s.view.index.Lock()
			s.view.err = err
			s.view.moved.Tell()
			s.view.index.Unlock()
			s.lifecycle.Poison(ours)
			s.opts.Logger.Error("posthouse: the log cannot be followed", "store", s.streams.where, "err", err)
			return
		}
		s.opts.Logger.Warn("posthouse: following the log again", "store", s.streams.where, "err", err)
		for s.ctx.Err() == nil {
			s.view.index.RLock()
			from := s.view.applied + 1
			s.view.index.RUnlock()
			f, err = s.streams.feed(s.ctx, from)
			if err == nil {
				break
			}
		}
		if s.ctx.Err() != nil {
			if err == nil {
				f.messages.Stop()
			}
			return
		}
	}
}

func (s *Store) followFeed(f *feed) error {
	stop := context.AfterFunc(s.ctx, f.messages.Stop)
	defer stop()
	for {
		m, err := f.messages.Next()
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		seq := meta.Sequence.Stream
		s.view.index.RLock()
		known := seq <= s.view.applied
		s.view.index.RUnlock()
		if known {
			continue
		}
		r, err := s.streams.receive(s.ctx, m.Subject(), seq, m.Data())
		if err == nil {
			err = s.view.apply(r)
		}
		if err != nil {
			return err
		}
	}
}

// refresh brings the index to the end of the log, unless only this process writes to it.
func (s *Store) refresh(ctx context.Context) error {
	if s.streams.own != nil {
		return s.sound(ctx)
	}
	return s.catchUp(ctx)
}

// sound returns why nothing can be read, or nil.
func (s *Store) sound(ctx context.Context) error {
	if err := s.lifecycle.Usable(ctx); err != nil {
		return err
	}
	s.view.index.RLock()
	defer s.view.index.RUnlock()
	return s.view.err
}

// catchUp brings the index to the end of the log.
func (s *Store) catchUp(ctx context.Context) error {
	if err := s.sound(ctx); err != nil {
		return err
	}
	info, err := s.streams.streamInfo(ctx)
	if err != nil {
		return err
	}
	return s.reach(ctx, "read the log", info.State.LastSeq)
}

// reach waits until the index has a message, for as long as Options.Timeout.
func (s *Store) reach(ctx context.Context, doing string, seq uint64) error {
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	err := s.view.await(within, seq)
	if ctx.Err() != nil && !s.lifecycle.Closed() {
		return ctx.Err()
	}
	return s.streams.wrap(doing, err)
}
