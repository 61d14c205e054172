package polling

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
)

// prefix distinguishes cursors of a polling watch from those of stores.
const prefix = "poll-"

// A cursor says how far a polling watch has seen each thread. One number would not
// do: a store that is no [posthouse.Watcher] has no order across threads.
type cursor map[key]mark

// A key is the beginning of the hash of a thread's name, to keep cursors short.
type key [8]byte

// A mark is the last entry seen. Its hash tells a thread that was deleted and
// started over.
type mark struct {
	seq  uint64
	hash [4]byte
}

func keyOf(thread string) key {
	sum := sha256.Sum256([]byte(thread))
	return key(sum[:8])
}

func markOf(p posthouse.Position) mark { return mark{p.Seq, [4]byte(p.Hash[:4])} }

// encode returns the marks of all threads but one, in no order.
func (c cursor) encode(without key) []byte {
	b := make([]byte, 0, 16*len(c))
	for k, m := range c {
		if k != without {
			b = m.append(b, k)
		}
	}
	return b
}

func (m mark) append(b []byte, k key) []byte {
	return binary.AppendUvarint(append(append(b, k[:]...), m.hash[:]...), m.seq)
}

// A Watcher watches a store by polling it.
type Watcher struct {
	Store  posthouse.Store
	Every  time.Duration
	Thread string // "": all
}

// Watch yields entries as [posthouse.Watcher] does.
func (w *Watcher) Watch(ctx context.Context, after string) iter.Seq2[*posthouse.Entry, error] {
	start, bad := w.start(ctx, after) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		p := &poll{Watcher: w, seen: maps.Clone(start), yield: yield}
		err := bad
		tick := time.NewTicker(w.Every)
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

// start reads a cursor.
func (w *Watcher) start(ctx context.Context, after string) (cursor, error) {
	c := cursor{}
	switch after {
	case "":
		return c, nil
	case "now":
		for t, err := range w.Store.Threads(ctx, posthouse.ThreadQuery{Thread: w.Thread}) {
			if err != nil {
				return nil, err
			}
			c[keyOf(t.Thread)] = markOf(t.Tail)
		}
		return c, nil
	}
	return parse(after)
}

func parse(s string) (cursor, error) {
	bad := &posthouse.Error{Code: posthouse.CodeInvalid, Field: "cursor", Message: "is not one this store's watch gave out", Hint: "watch from the start, or from now"}
	encoded, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return nil, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, bad
	}
	c := cursor{}
	for len(b) > 0 {
		var k key
		var m mark
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

// A poll is a watch under way.
type poll struct {
	*Watcher
	seen    cursor
	yield   func(*posthouse.Entry, error) bool
	stopped bool // by the consumer
}

// round looks once, and yields what is new.
func (p *poll) round(ctx context.Context) error {
	there := map[key]bool{}
	for t, err := range p.Store.Threads(ctx, posthouse.ThreadQuery{Thread: p.Thread}) {
		if err != nil {
			return err
		}
		k := keyOf(t.Thread)
		there[k] = true
		if p.seen[k] == markOf(t.Tail) {
			continue
		}
		if err := p.catchUp(ctx, k, t); err != nil || p.stopped {
			return err
		}
	}
	maps.DeleteFunc(p.seen, func(k key, _ mark) bool { return p.Thread == "" && !there[k] })
	return nil
}

// catchUp yields a thread's entries after the last one seen. It reads that one again:
// if it differs, the thread started over, and all is yielded.
func (p *poll) catchUp(ctx context.Context, k key, t *posthouse.ThreadInfo) error {
	last := p.seen[k]
	if last.seq > t.Tail.Seq {
		last = mark{}
	}
	again, others := false, p.seen.encode(k)
	for e, err := range p.Store.Read(ctx, t.Thread, posthouse.Range{From: last.seq}) {
		if err != nil {
			return err
		}
		m := markOf(posthouse.Position{Seq: e.Seq, Hash: e.Hash})
		if e.Seq == last.seq {
			again = m != last
			if again {
				break
			}
			continue
		}
		p.seen[k] = m
		e.Cursor = prefix + base64.RawURLEncoding.EncodeToString(m.append(slices.Clip(others), k))
		if !p.yield(e, nil) {
			p.stopped = true
			return nil
		}
	}
	if again {
		delete(p.seen, k)
		return p.catchUp(ctx, k, t)
	}
	return nil
}
