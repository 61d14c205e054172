package s3store

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/memindex"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// A request is a write that waits for the leader: appends to one thread, or a removal.
type request struct {
	batches  []*posthouse.Batch
	frames   [][]byte // one for each batch
	incoming []memindex.Incoming
	removal  *posthouse.Removal
}

// The cost of a group is bounded, so that an object has megabytes at most.
const (
	maxGroupCost = 512
	bytesPerCost = 16 << 10
)

func (r *request) cost() (n int) {
	if r.batches == nil {
		return maxGroupCost
	}
	for _, f := range r.frames {
		n += 1 + len(f)/bytesPerCost
	}
	return n
}

// Append implements [posthouse.Store]. Appends that arrive while a commit is on its way
// share the next one, of any threads.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := valid.Batch(b); err != nil {
		return err
	}
	return s.append(ctx, []*posthouse.Batch{b})
}

// AppendAll implements [posthouse.BulkAppender].
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := valid.Batches(bs); err != nil || len(bs) == 0 {
		return err
	}
	return s.append(ctx, bs)
}

func (s *Store) append(ctx context.Context, bs []*posthouse.Batch) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	r := &request{batches: bs, incoming: make([]memindex.Incoming, len(bs)), frames: make([][]byte, len(bs))}
	for i, b := range bs {
		size := b.Entry.Size()
		if size > maxEntry {
			return posthouse.TooLarge("entry", size, maxEntry)
		}
		frame, head := framelog.AppendBatch(nil, b)
		r.frames[i] = frame
		r.incoming[i] = memindex.Take(b, place{head: uint32(head), body: uint32(len(frame) - framelog.HeaderSize - head)})
	}
	return s.submit(ctx, "append to the log", r)
}

// maxEntry keeps an object within what a service takes in one request.
const maxEntry = 1 << 30

// submit waits until the request is durable or refused.
func (s *Store) submit(ctx context.Context, doing string, r *request) error {
	err := s.writes.Do(ctx, r)
	if errors.Is(err, groupcommit.ErrAborted) {
		return &posthouse.Error{Code: posthouse.CodeUnknown, Message: "cannot " + doing + " in " + s.objects.where, Err: err, Hint: "try again: repeating is safe"}
	}
	return s.objects.wrap(doing, err)
}

// A proposal is the commit that a group is going to write.
type proposal struct {
	commitHead
	at       uint64 // the commit that it was judged by
	frames   [][]byte
	incoming []memindex.Incoming
	removal  *removal
	refused  bool // one of the group's calls
}

// commit runs one group: it writes the requests that the index allows as the next commit.
// If another process was first, it takes that commit in and judges again. So a request is
// refused only by acknowledged commits.
func (s *Store) commit(group []*groupcommit.Call[*request]) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Timeout)
	defer cancel()
	backoff.Sleep(ctx, s.begin.Sub(s.opts.now()))
	for fresh := false; ; fresh = true {
		p := s.judge(group)
		err := s.lifecycle.Writable(ctx)
		won := false
		switch {
		case err != nil:
		case p.frames != nil:
			won, err = s.propose(ctx, p)
			if won {
				s.adopt(ctx, p)
			}
		case !p.refused || fresh:
			return
		default:
			err = s.refresh(ctx)
		}
		if err != nil {
			for _, call := range group {
				call.Err = err // also of those refused: what they were refused for may not be there
			}
		}
		if err != nil || won {
			return
		}
	}
}

// judge says of each call whether it is to be written.
func (s *Store) judge(group []*groupcommit.Call[*request]) *proposal {
	s.view.index.RLock()
	defer s.view.index.RUnlock()
	p := &proposal{at: s.view.at, commitHead: commitHead{number: s.view.at + 1, before: s.view.id}}
	plan := s.view.index.Plan()
	for i, call := range group {
		r := call.Work
		var fresh []*posthouse.Batch
		if r.removal != nil {
			p.removal = s.view.judgeRemoval(r.removal)
			if p.removal == nil {
				p.refused = true // unless another process has what goes
			}
		} else {
			fresh, call.Err = plan.Admit(r.batches, i == len(group)-1)
			if call.Err != nil {
				p.refused = true
			}
		}
		first := len(r.batches) - len(fresh)
		p.frames = append(p.frames, r.frames[first:]...)
		p.incoming = append(p.incoming, r.incoming[first:]...)
	}
	if p.removal != nil {
		p.removal.commit = p.number * perCommit
		p.frames = [][]byte{p.removal.append(nil)}
	}
	return p
}

// build makes the object of the commit.
func (p *proposal) build() []byte {
	_, _ = rand.Read(p.id[:]) // never fails: crypto/rand aborts the program instead
	p.commitHead.frames = len(p.frames)
	data := p.append(nil)
	for i, f := range p.frames {
		if p.removal == nil {
			in := p.incoming[i].Entry
			in.Commit, entryPlace(in).at = p.number*perCommit+uint64(i), uint32(len(data))
			framelog.Number(f, in.Commit)
		}
		data = append(data, f...)
	}
	return data
}

// propose writes the commit unless there is one of its number. It reports whether it did,
// and asks again for as long as the service does not say.
func (s *Store) propose(ctx context.Context, p *proposal) (won bool, err error) {
	data := p.build()
	s.view.index.Lock()
	s.view.awaited, s.view.mine = p.commitHead, false
	s.view.index.Unlock()
	key, doubt := s.objects.commitKey(p.number), false
	for wait := newRetries(); ; {
		began := s.opts.now()
		err := s.objects.attempt(ctx, func(ctx context.Context) error {
			_, err := s.objects.bucket.put(ctx, key, data, "")
			return err
		})
		s.took = s.opts.now().Sub(began)
		switch {
		case err == nil:
			s.cache.put(p.number, span{0, data})
			return true, nil
		case errors.Is(err, errTaken): // perhaps by an attempt of ours that lost its answer
			if err := s.refresh(ctx); err != nil {
				return false, s.objects.unsure(err)
			}
			s.view.index.RLock()
			defer s.view.index.RUnlock()
			return s.view.mine, nil
		case !s.objects.lost(err):
			if doubt {
				err = s.objects.unsure(err)
			}
			return false, s.objects.wrap("commit", err)
		case !wait.Next(ctx):
			return false, s.objects.unsure(err)
		}
		doubt = true
		s.opts.Logger.Warn("posthouse: asking the service again", "store", s.objects.where, "doing", "commit", "err", err)
	}
}

// adopt puts a commit that was written here into the index, unless a reader already has.
func (s *Store) adopt(ctx context.Context, p *proposal) {
	s.view.index.Lock()
	took := s.view.at == p.at
	if took {
		for _, in := range p.incoming {
			s.view.index.Add(in)
		}
		if p.removal != nil {
			_ = s.view.applyRemoval(p.removal) // never fails: the summary is our own
		}
		s.view.at, s.view.id = p.number, p.id
		s.advance(bareOf(p), true)
		s.view.index.Wake()
	}
	contended := s.opts.now().Sub(s.view.foreign) < time.Second
	s.view.index.Unlock()
	s.begin = (time.Time{})
	if contended { // let others have the next one
		s.begin = s.opts.now().Add(mathrand.N(2*min(s.took, 250*time.Millisecond) + 1))
	}
	s.writeManifests(ctx)
}

// bareOf returns the commit without bodies.
func bareOf(p *proposal) []byte {
	b := p.append(nil)
	for i, f := range p.frames {
		n := len(f)
		if p.removal == nil {
			n = framelog.HeaderSize + int(entryPlace(p.incoming[i].Entry).head)
		}
		b = append(b, f[:n]...)
	}
	return b
}
