package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// A clientSession is what a client gets back when it connects again, also after
// a restart: its transport (rooms, the last event it saw) and its place in a
// workflow. It belongs to the principal that made it. It is kept in a slot of
// the store, under the hash of its token.
type clientSession struct {
	Principal  string            `json:"principal"`
	Rooms      []string          `json:"rooms,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Thread     string            `json:"thread,omitempty"`
	Checkpoint posthouse.ID      `json:"checkpoint,omitempty"`
	Gate       posthouse.ID      `json:"gate,omitempty"`
	Cursor     string            `json:"cursor,omitempty"`
	CreatedAt  time.Time         `json:"createdAt"`
	LastSeen   time.Time         `json:"lastSeen"`
}

const (
	clientsThread = "$sessions" // of the slots
	clientShards  = "0123456789abcdef"
	sweepEvery    = time.Minute
	maxToken      = 200
)

// clients keeps the sessions. A store's slots cannot be listed, so that an index
// of them is kept in slots too, one for each first digit of the hash.
type clients struct {
	store posthouse.Store
	now   func() time.Time
	ttl   time.Duration
	limit int

	mu    sync.Mutex
	swept time.Time
}

func clientKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func clientSlot(key string) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: clientsThread, Step: key}
}

// A clientIndex says when each session of a shard ends at the earliest.
type clientIndex map[string]posthouse.Millis

// create makes a session and returns its token.
func (c *clients) create(ctx context.Context, principal string) (token string, x *clientSession, err error) {
	token = tokens.NewSecret()
	key, now := clientKey(token), c.now().UTC()
	x = &clientSession{Principal: principal, CreatedAt: now, LastSeen: now}
	err = c.index(ctx, key[:1], func(shard clientIndex) (bool, error) {
		if len(shard) >= max(c.limit/len(clientShards), 1) {
			return false, &posthouse.Error{Code: problem.CodeTooMany, Message: "there are too many sessions", Hint: "sessions that are not used end by themselves; try again later"}
		}
		shard[key] = c.end(x)
		return true, nil
	})
	if err == nil {
		err = c.put(ctx, key, x, posthouse.AnyRevision)
	}
	return token, x, err
}

func (c *clients) end(x *clientSession) posthouse.Millis {
	return posthouse.Millis(x.LastSeen.Add(c.ttl).UnixMilli())
}

func (c *clients) put(ctx context.Context, key string, x *clientSession, revision uint64) error {
	value, err := json.Marshal(x)
	if err != nil {
		return err
	}
	_, err = c.store.Slot(ctx, clientSlot(key), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision})
	return err
}

// get returns a session that has not ended, or nil.
func (c *clients) get(ctx context.Context, key string) (x *clientSession, revision uint64, err error) {
	slot, err := c.store.Slot(ctx, clientSlot(key), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	x = &clientSession{}
	if json.Unmarshal(slot.Value, x) != nil || posthouse.Millis(c.now().UnixMilli()) >= c.end(x) {
		return nil, slot.Revision, nil
	}
	return x, slot.Revision, nil
}

// restore returns the principal's session, nil where the token is unknown, its
// session has ended or is another's.
func (c *clients) restore(ctx context.Context, token, principal string) (*clientSession, error) {
	x, _, err := c.get(ctx, clientKey(token))
	if err != nil || x == nil || x.Principal != principal {
		return nil, err
	}
	return x, nil
}

// update changes a session and marks it as seen; one that is gone stays gone.
func (c *clients) update(ctx context.Context, token string, change func(*clientSession)) error {
	key := clientKey(token)
	var r race
	for {
		x, revision, err := c.get(ctx, key)
		if err != nil || x == nil {
			return err
		}
		change(x)
		x.LastSeen = c.now().UTC()
		if err := c.put(ctx, key, x, revision); r.over(err, revision) {
			return err
		}
	}
}

// remove ends a session.
func (c *clients) remove(ctx context.Context, token string) error {
	key := clientKey(token)
	_, err := c.store.Slot(ctx, clientSlot(key), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
	if err != nil {
		return err
	}
	return c.index(ctx, key[:1], func(shard clientIndex) (bool, error) {
		_, there := shard[key]
		delete(shard, key)
		return there, nil
	})
}

// due reports whether it is time to sweep, once a minute.
func (c *clients) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.swept) < sweepEvery && !now.Before(c.swept) {
		return false
	}
	c.swept = now
	return true
}

// removeExpired takes sessions away that have not been seen for their time.
func (c *clients) removeExpired(ctx context.Context) (n int, err error) {
	for _, digit := range clientShards {
		gone := 0
		err := c.index(ctx, string(digit), func(shard clientIndex) (bool, error) {
			gone = 0
			changed := false
			for key, end := range shard {
				if posthouse.Millis(c.now().UnixMilli()) < end {
					continue
				}
				changed = true
				x, revision, err := c.get(ctx, key)
				if err != nil {
					return false, err
				}
				if x != nil {
					shard[key] = c.end(x)
					continue
				}
				op := posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: revision}
				if _, err := c.store.Slot(ctx, clientSlot(key), op); err != nil && !errors.Is(err, posthouse.ErrConflict) {
					return false, err
				}
				delete(shard, key)
				gone++
			}
			return changed, nil
		})
		if err != nil {
			return n, err
		}
		n += gone
	}
	return n, nil
}

// index changes a shard's index; change is called again when somebody else was
// faster, and reports whether there is anything to write.
func (c *clients) index(ctx context.Context, digit string, change func(clientIndex) (bool, error)) error {
	key := posthouse.SlotKey{Thread: clientsThread, Step: "index-" + digit}
	var r race
	for {
		shard := clientIndex{}
		slot, err := c.store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
		switch {
		case errors.Is(err, posthouse.ErrNotFound):
		case err != nil:
			return err
		default:
			if err := json.Unmarshal(slot.Value, &shard); err != nil {
				return &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "the index of sessions does not decode", Err: err}
			}
		}
		if write, err := change(shard); err != nil || !write {
			return err
		}
		value, err := json.Marshal(shard)
		if err != nil {
			return err
		}
		_, err = c.store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: slot.Revision})
		if r.over(err, slot.Revision) {
			return err
		}
	}
}

// A race is writing a slot that others write, too.
type race struct {
	tried bool
	last  uint64 // the revision that the last try found
}

// over reports whether a try was the last: it succeeded or failed, or nobody
// wrote the slot since the try before it, so that its conflict will not go away.
func (r *race) over(err error, revision uint64) bool {
	stuck := r.tried && r.last == revision
	r.tried, r.last = true, revision
	return stuck || !errors.Is(err, posthouse.ErrConflict)
}
