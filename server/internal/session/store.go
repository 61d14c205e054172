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

// A Store keeps the sessions of clients. A store's slots cannot be listed, so an
// index of them is kept in slots too, one for each first digit of the hash.
type Store struct {
	store posthouse.Store
	now   func() time.Time
	ttl   time.Duration
	limit int

	mu    sync.Mutex
	swept time.Time
}

// NewStore keeps sessions in a store: at most so many at once, a quarter of them for one
// principal, each until it was not seen for ttl.
func NewStore(store posthouse.Store, now func() time.Time, ttl time.Duration, limit int) *Store {
	return &Store{store: store, now: now, ttl: ttl, limit: limit}
}

func keyOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func slotOf(key string) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: slotsThread, Step: key}
}

// Create makes a session and returns its token.
func (c *Store) Create(ctx context.Context, principal string) (token string, x *Session, err error) {
	token = tokens.NewSecret()
	key, now := keyOf(token), c.now().UTC()
	x = &Session{Principal: principal, CreatedAt: now, LastSeen: now}
	var gone []string
	err = c.index(ctx, key[:1], func(shard shardIndex) (bool, error) {
		gone = c.makeRoom(shard, principal)
		shard[key] = indexed{c.expiresAt(x), principal}
		return true, nil
	})
	for _, k := range gone {
		if err == nil {
			_, err = c.store.Slot(ctx, slotOf(k), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
		}
	}
	if err == nil {
		err = c.write(ctx, key, x, posthouse.AnyRevision)
	}
	return token, x, err
}

func (c *Store) expiresAt(x *Session) posthouse.Millis {
	return posthouse.Millis(x.LastSeen.Add(c.ttl).UnixMilli())
}

func (c *Store) write(ctx context.Context, key string, x *Session, revision uint64) error {
	value, err := json.Marshal(x)
	if err != nil {
		return err
	}
	_, err = c.store.Slot(ctx, slotOf(key), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision})
	return err
}

// get returns a session that has not ended, or nil.
func (c *Store) get(ctx context.Context, key string) (x *Session, revision uint64, err error) {
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
func (c *Store) Restore(ctx context.Context, token, principal string) (*Session, error) {
	x, _, err := c.get(ctx, keyOf(token))
	if err != nil || x == nil || x.Principal != principal {
		return nil, err
	}
	return x, nil
}

// Update changes a session and marks it as seen; one that is gone stays gone.
func (c *Store) Update(ctx context.Context, token string, change func(*Session)) error {
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
func (c *Store) Remove(ctx context.Context, token string) error {
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
func (c *Store) Due() bool {
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
func (c *Store) RemoveExpired(ctx context.Context) (n int, err error) {
	for _, digit := range shards {
		gone := 0
		err := c.index(ctx, string(digit), func(shard shardIndex) (bool, error) {
			gone = 0
			changed := false
			for key, in := range shard {
				if posthouse.Millis(c.now().UnixMilli()) < in.end {
					continue
				}
				changed = true
				x, revision, err := c.get(ctx, key)
				if err != nil {
					return false, err
				}
				if x != nil {
					shard[key] = indexed{c.expiresAt(x), x.Principal}
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
