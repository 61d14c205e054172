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

// A shardIndex has each session of a shard.
type shardIndex map[string]indexed

// An indexed says when a session ends at the earliest, and who has it. Earlier versions
// wrote the time alone, as a number.
type indexed struct {
	end   posthouse.Millis
	owner string
}

// MarshalJSON implements [json.Marshaler].
func (x indexed) MarshalJSON() ([]byte, error) { return json.Marshal([]any{x.end, x.owner}) }

// UnmarshalJSON implements [json.Unmarshaler].
func (x *indexed) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &x.end) == nil {
		return nil
	}
	return json.Unmarshal(data, &[]any{&x.end, &x.owner})
}

func (x indexed) by() string { return x.owner }

// makeRoom takes sessions out of a shard for one more of a principal and returns them. Of
// a principal who has a quarter of the shard, the one that ends first goes; of a full
// shard, one of the principal who has most. So no principal takes what others need.
func (c *Store) makeRoom(shard shardIndex, principal string) (gone []string) {
	take := func(of string) {
		k, ok := oldestOf(shard, of, indexed.by, func(a, b indexed) bool { return a.end < b.end })
		if ok {
			delete(shard, k)
			gone = append(gone, k)
		}
	}
	limit := max(c.limit/len(shards), 1)
	if countOf(shard, principal, indexed.by) >= max(limit/4, 1) {
		take(principal)
	}
	for len(shard) >= limit {
		most, _ := mostOf(shard, indexed.by)
		take(most)
	}
	return gone
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

// index changes a shard's index. change is called again after a conflict, and
// reports whether there is anything to write.
func (c *Store) index(ctx context.Context, digit string, change func(shardIndex) (bool, error)) error {
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
