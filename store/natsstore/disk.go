package natsstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// After a failed write, a stream takes no more writes and does not answer them until its server
// is started again. So the store listens to what a server in this process logs about its disk.
// If there was no room, writes fail as full, and the server is started again once there is
// some. After any other failure the disk's content is unknown, and the store takes no more
// writes.

// A life is one run of a server in this process, from its start until it is stopped.
type life struct {
	mu      sync.Mutex
	err     *posthouse.Error // why there are no writes
	streams map[string]*mark
	any     *mark
}

// A mark is a context that ends when a write has failed.
type mark struct {
	context.Context
	end context.CancelFunc
}

func newMark() *mark {
	ctx, end := context.WithCancel(context.Background())
	return &mark{ctx, end}
}

func newLife() *life { return &life{streams: map[string]*mark{}, any: newMark()} }

// criticalLine is how a server says that a write of a stream has failed.
var criticalLine = regexp.MustCompile(`^Filestore \[([^\]]+)\] Critical write error: (.*)`)

// hear takes in what a server says about an error. It is called with locks of the server held.
func (l *life) hear(dir, line string) {
	m := criticalLine.FindStringSubmatch(line)
	lacks := lacksRoom(line)
	if m == nil && !lacks {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m != nil && (!lacks || strings.HasPrefix(m[2], "sync ")): // what was written may be on the disk, or lost from it
		if l.err == nil || l.err.Code == posthouse.CodeFull {
			l.err = &posthouse.Error{
				Code: posthouse.CodeReadOnly, Message: "a write of the server in " + dir + " failed: " + m[2],
				Hint: "look at the disk, then open the store again and run posthouse verify",
			}
		}
	case l.err == nil:
		l.err = &posthouse.Error{
			Code: posthouse.CodeFull, Message: "there is no room on the disk of " + dir,
			Hint: "nothing was written; make room and try again: writes go on by themselves within seconds once 4 MiB are free",
		}
	}
	l.any.end()
	if m != nil {
		l.markOf(m[1]).end()
	}
}

// lacksRoom reports whether a text says that a disk, or a quota of it, is full.
func lacksRoom(text string) bool {
	return slices.ContainsFunc([]string{"no space left", "disk quota exceeded", "not enough space on the disk"}, func(s string) bool { return strings.Contains(text, s) })
}

// markOf returns the mark of a stream. Callers hold the lock.
func (l *life) markOf(stream string) *mark {
	if l.streams[stream] == nil {
		l.streams[stream] = newMark()
	}
	return l.streams[stream]
}

// mark returns the mark of a stream.
func (l *life) mark(stream string) *mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.markOf(stream)
}

// failure returns why there are no writes, or nil.
func (l *life) failure() *posthouse.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// diskError returns why the disk of a server in this process takes no writes, or nil.
func (s *streams) diskError() error {
	if s.own == nil {
		return nil
	}
	if e := s.own.now().failure(); e != nil {
		return e
	}
	return nil
}

// answerTime is how long the answer to a write that was done may be on its way within this
// process.
const answerTime = 100 * time.Millisecond

// write sends a request that writes to a stream. It does not wait for a server in this process
// after a failed write of this stream: that server does not answer. Then it fails as full, or
// as unknown if the write may have been done.
func (s *streams) write(ctx context.Context, stream string, send func(context.Context) error) error {
	if s.own == nil {
		return send(ctx)
	}
	l := s.own.now()
	if e := l.failure(); e != nil {
		return e
	}
	waits, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := l.mark(stream)
	stop := context.AfterFunc(failed, func() { time.AfterFunc(answerTime, cancel) })
	defer stop()
	err := send(waits)
	if err == nil || hasMoved(err) || failed.Err() == nil {
		return err
	}
	e := *l.failure()
	if e.Code != posthouse.CodeFull {
		e.Code = posthouse.CodeUnknown
	}
	return &e
}

// probeSize is how much room there must be on a full disk before the server is started again:
// the largest write fits.
const probeSize = 4 << 20

const (
	probeName  = "room"
	probeEvery = time.Second
)

// hasRoom reports whether a file of probeSize fits on the disk.
func (own *ownServer) hasRoom() bool {
	path := filepath.Join(own.dir, probeName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, probeSize))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(path)) == nil
}

// keepWriting starts the server in this process again when its disk was full and has room,
// until the store closes.
func (s *Store) keepWriting() {
	for {
		l := s.streams.own.now()
		select {
		case <-s.ctx.Done():
			return
		case <-l.any.Done():
		}
		e := l.failure()
		s.opts.Logger.Error("posthouse: NATS in this process takes no writes", "store", s.streams.where, "err", e)
		for e.Code == posthouse.CodeFull && !s.startAgain() {
			t := time.NewTimer(probeEvery)
			select {
			case <-t.C:
			case <-s.ctx.Done():
				t.Stop()
				return
			}
			e = l.failure()
		}
		if e.Code != posthouse.CodeFull {
			s.lifecycle.Poison(e)
			return
		}
	}
}

// startAgain starts the server again if there is room, and looks whether it has all that
// it had. It reports false to be called later.
func (s *Store) startAgain() bool {
	if !s.streams.own.hasRoom() {
		return false
	}
	next, err := s.streams.own.again(&s.opts)
	if err == nil {
		err = s.checkStream(s.ctx)
	}
	switch {
	case s.ctx.Err() != nil:
		return false
	case errors.Is(err, posthouse.ErrCorrupt):
		var e *posthouse.Error
		errors.As(err, &e)
		s.lifecycle.Poison(e)
	case err != nil:
		s.opts.Logger.Warn("posthouse: NATS in this process does not start", "store", s.streams.where, "err", err)
		return false
	}
	s.streams.own.take(next)
	if s.lifecycle.Damage() == nil {
		s.finishLeft()
		s.opts.Logger.Info("posthouse: there is room again, and NATS in this process takes writes", "store", s.streams.where)
	}
	return true
}

// undeleted is what the log says is gone, and there was no room to delete.
type undeleted struct {
	mu   sync.Mutex
	rest rest
}

// add keeps more, until there is room.
func (u *undeleted) add(left rest) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rest.messages = append(u.rest.messages, left.messages...)
	u.rest.chunks = append(u.rest.chunks, left.chunks...)
}

// take returns all, and keeps nothing.
func (u *undeleted) take() rest {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.rest
	u.rest = rest{}
	return all
}

// finishLeft deletes what there was no room to delete.
func (s *Store) finishLeft() {
	left := s.undeleted.take()
	if len(left.messages) == 0 {
		return
	}
	if err := s.finish(s.ctx, left); err != nil {
		s.opts.Logger.Warn("posthouse: cannot delete what was removed", "store", s.streams.where, "err", err)
	}
}
