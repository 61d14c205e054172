package session

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

// A Session is what a client gets back when it connects again, also after a
// restart. It has its transport (rooms, the last event it saw) and its place in a
// workflow. It belongs to the principal that made it and is kept in a slot of the
// store, under the hash of its token.
type Session struct {
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

// MaxToken is how long a session's token may be, in bytes.
const MaxToken = 200

const (
	slotsThread = "$sessions" // of the slots
	shards      = "0123456789abcdef"
	sweepEvery  = time.Minute
)

// Clients are the sessions of clients. A store's slots cannot be listed, so an
// index of them is kept in slots too, one for each first digit of the hash.
type Clients struct {
	store posthouse.Store
	now   func() time.Time
	ttl   time.Duration
	limit int

	mu    sync.Mutex
	swept time.Time
}

// NewClients keeps sessions in a store: at most so many at once, each until it
// was not seen for ttl.
func NewClients(store posthouse.Store, now func() time.Time, ttl time.Duration, limit int) *Clients {
	return &Clients{store: store, now: now, ttl: ttl, limit: limit}
}

func keyOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func slotOf(key string) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: slotsThread, Step: key}
}

// A shardIndex says when each session of a shard ends at the earliest.
type shardIndex map[string]posthouse.Millis

// Create makes a session and returns its token.
func (c *Clients) Create(ctx context.Context, principal string) (token string, x *Session, err error) {
	token = tokens.NewSecret()
	key, now := keyOf(token), c.now().UTC()
	x = &Session{Principal: principal, CreatedAt: now, LastSeen: now}
	err = c.index(ctx, key[:1], func(shard shardIndex) (bool, error) {
		if len(shard) >= max(c.limit/len(shards), 1) {
			return false, &posthouse.Error{Code: problem.CodeTooMany, Message: "there are too many sessions", Hint: "sessions that are not used end by themselves; try again later"}
		}
		shard[key] = c.expiresAt(x)
		return true, nil
	})
	if err == nil {
		err = c.write(ctx, key, x, posthouse.AnyRevision)
	}
	return token, x, err
}

func (c *Clients) expiresAt(x *Session) posthouse.Millis {
	return posthouse.Millis(x.LastSeen.Add(c.ttl).UnixMilli())
}

func (c *Clients) write(ctx context.Context, key string, x *Session, revision uint64) error {
	value, err := json.Marshal(x)
	if err != nil {
		return err
	}
	_, err = c.store.Slot(ctx, slotOf(key), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision})
	return err
}

// get returns a session that has not ended, or nil.
func (c *Clients) get(ctx context.Context, key string) (x *Session, revision uint64, err error) {
	slot, err := c.store.Slot(ctx, slotOf(key), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	x = &Session{}
	if json.Unmarshal(slot.Value, x) != nil || posthouse.Millis(c.now().UnixMilli()) >= c.expiresAt(x) {
		return nil, slot.Revision, nil
	}
	return x, slot.Revision, nil
}

// Restore returns the principal's session, nil where the token is unknown, its
// session has ended or is another's.
func (c *Clients) Restore(ctx context.Context, token, principal string) (*Session, error) {
	x, _, err := c.get(ctx, keyOf(token))
	if err != nil || x == nil || x.Principal != principal {
		return nil, err
	}
	return x, nil
}

// Update changes a session and marks it as seen; one that is gone stays gone.
func (c *Clients) Update(ctx context.Context, token string, change func(*Session)) error {
	key := keyOf(token)
	var r race
	for {
		x, revision, err := c.get(ctx, key)
		if err != nil || x == nil {
			return err
		}
		change(x)
		x.LastSeen = c.now().UTC()
		if err := c.write(ctx, key, x, revision); r.shouldStop(err, revision) {
			return err
		}
	}
}

// Remove ends a session.
func (c *Clients) Remove(ctx context.Context, token string) error {
	key := keyOf(token)
	_, err := c.store.Slot(ctx, slotOf(key), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
	if err != nil {
		return err
	}
	return c.index(ctx, key[:1], func(shard shardIndex) (bool, error) {
		_, there := shard[key]
		delete(shard, key)
		return there, nil
	})
}

// Due reports whether it is time to sweep, once a minute.
func (c *Clients) Due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.swept) < sweepEvery && !now.Before(c.swept) {
		return false
	}
	c.swept = now
	return true
}

// RemoveExpired takes sessions away that have not been seen for their time.
func (c *Clients) RemoveExpired(ctx context.Context) (n int, err error) {
	for _, digit := range shards {
		gone := 0
		err := c.index(ctx, string(digit), func(shard shardIndex) (bool, error) {
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
					shard[key] = c.expiresAt(x)
					continue
				}
				op := posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: revision}
				if _, err := c.store.Slot(ctx, slotOf(key), op); err != nil && !errors.Is(err, posthouse.ErrConflict) {
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

// index changes a shard's index. change is called again after a conflict, and
// reports whether there is anything to write.
func (c *Clients) index(ctx context.Context, digit string, change func(shardIndex) (bool, error)) error {
	key := posthouse.SlotKey{Thread: slotsThread, Step: "index-" + digit}
	var r race
	for {
		shard := shardIndex{}
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
		if r.shouldStop(err, slot.Revision) {
			return err
		}
	}
}

// A race counts tries to write a slot that others write, too.
type race struct {
	tried bool
	last  uint64 // the revision that the last try found
}

// shouldStop reports success, an error other than a conflict, or a revision that did not
// change since the last try.
func (r *race) shouldStop(err error, revision uint64) bool {
	stuck := r.tried && r.last == revision
	r.tried, r.last = true, revision
	return stuck || !errors.Is(err, posthouse.ErrConflict)
}
