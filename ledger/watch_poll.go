package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// pollPrefix distinguishes cursors of a polling watch from those of stores.
const pollPrefix = "poll-"

// A pollCursor says how far a polling watch has seen each thread. One number would not
// do: a store that is no [posthouse.Watcher] has no order across threads.
type pollCursor map[pollKey]pollMark

// A pollKey is the beginning of the hash of a thread's name, to keep cursors short.
type pollKey [8]byte

// A pollMark is the last entry seen. Its hash tells a thread that was deleted and
// started over.
type pollMark struct {
	seq  uint64
	hash [4]byte
}

func pollKeyOf(thread string) pollKey {
	sum := sha256.Sum256([]byte(thread))
	return pollKey(sum[:8])
}

func markOf(p posthouse.Position) pollMark { return pollMark{p.Seq, [4]byte(p.Hash[:4])} }

// encode returns the marks of all threads but one, in no order.
func (c pollCursor) encode(without pollKey) []byte {
	b := make([]byte, 0, 16*len(c))
	for k, m := range c {
		if k != without {
			b = m.append(b, k)
		}
	}
	return b
}

func (m pollMark) append(b []byte, k pollKey) []byte {
	return binary.AppendUvarint(append(append(b, k[:]...), m.hash[:]...), m.seq)
}

// pollStart reads a cursor.
func (l *Ledger) pollStart(ctx context.Context, q WatchQuery) (pollCursor, error) {
	c := pollCursor{}
	switch {
	case q.Cursor == "":
		return c, nil
	case q.Cursor == "now":
		for t, err := range l.core.Store.Threads(ctx, posthouse.ThreadQuery{Thread: q.Thread}) {
			if err != nil {
				return nil, err
			}
			c[pollKeyOf(t.Thread)] = markOf(t.Tail)
		}
		return c, nil
	}
	return parsePollCursor(q.Cursor)
}

func parsePollCursor(s string) (pollCursor, error) {
	bad := &posthouse.Error{Code: posthouse.CodeInvalid, Field: "cursor", Message: "is not one this store's watch gave out", Hint: "watch from the start, or from now"}
	encoded, ok := strings.CutPrefix(s, pollPrefix)
	if !ok {
		return nil, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, bad
	}
	c := pollCursor{}
	for len(b) > 0 {
		var k pollKey
		var m pollMark
		if len(b) <= len(k)+len(m.hash) {
			return nil, bad
		}
		b = b[copy(k[:], b):]
		b = b[copy(m.hash[:], b):]
		n := 0
		m.seq, n = binary.Uvarint(b)
		if n <= 0 {
			return nil, bad
		}
		c[k], b = m, b[n:]
	}
	return c, nil
}

// poll watches a store that is no [posthouse.Watcher]: it looks again and again for
// threads with moved tails.
func (l *Ledger) poll(ctx context.Context, q WatchQuery) iter.Seq2[*posthouse.Entry, error] {
	start, bad := l.pollStart(ctx, q) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		p := &poller{l: l.core, thread: q.Thread, seen: maps.Clone(start), yield: yield}
		err := bad
		tick := time.NewTicker(l.pollEvery)
		defer tick.Stop()
		for err == nil {
			err = p.round(ctx)
			if p.stopped {
				return
			}
			if err == nil {
				select {
				case <-tick.C:
				case <-ctx.Done():
					err = ctx.Err()
				}
			}
		}
		yield(nil, err)
	}
}

type poller struct {
	l       *core.Core
	thread  string // "": all
	seen    pollCursor
	yield   func(*posthouse.Entry, error) bool
	stopped bool // by the consumer
}

// round looks once, and yields what is new.
func (p *poller) round(ctx context.Context) error {
	there := map[pollKey]bool{}
	for t, err := range p.l.Store.Threads(ctx, posthouse.ThreadQuery{Thread: p.thread}) {
		if err != nil {
			return err
		}
		key := pollKeyOf(t.Thread)
		there[key] = true
		if p.seen[key] == markOf(t.Tail) {
			continue
		}
		if err := p.catchUp(ctx, key, t); err != nil || p.stopped {
			return err
		}
	}
	maps.DeleteFunc(p.seen, func(k pollKey, _ pollMark) bool { return p.thread == "" && !there[k] })
	return nil
}

// catchUp yields a thread's entries after the last one seen. It reads that one again:
// if it differs, the thread started over, and all is yielded.
func (p *poller) catchUp(ctx context.Context, key pollKey, t *posthouse.ThreadInfo) error {
	last := p.seen[key]
	if last.seq > t.Tail.Seq {
		last = pollMark{}
	}
	again, others := false, p.seen.encode(key)
	for e, err := range p.l.Store.Read(ctx, t.Thread, posthouse.Range{From: last.seq}) {
		if err != nil {
			return err
		}
		mark := markOf(posthouse.Position{Seq: e.Seq, Hash: e.Hash})
		if e.Seq == last.seq {
			again = mark != last
			if again {
				break
			}
			continue
		}
		p.seen[key] = mark
		e.Cursor = pollPrefix + base64.RawURLEncoding.EncodeToString(mark.append(slices.Clip(others), key))
		if !p.yield(e, nil) {
			p.stopped = true
			return nil
		}
	}
	if again {
		delete(p.seen, key)
		return p.catchUp(ctx, key, t)
	}
	return nil
}
