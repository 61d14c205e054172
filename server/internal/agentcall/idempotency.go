package agentcall

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/problem"
)

// The headers of requests that a client may have to send again.
const (
	KeyHeader      = "Idempotency-Key"      // names the request
	ReplayedHeader = "Idempotency-Replayed" // of an answer to a request that was sent before
)

const (
	maxKey     = 255            // bytes of a key
	keepKeys   = 24 * time.Hour // how long a key stands for its request
	keysThread = "$requests"    // of the slots
	keysOfSlot = 1000           // requests in one of the 256 slots, half of them one token's at most
)

// Key returns the key of a request, "" without a key. It fails with [posthouse.ErrInvalid] for a
// key that is malformed, or that its route does not take.
func Key(r *api.Request) (string, error) {
	vs := r.Header.Values(KeyHeader)
	switch {
	case len(vs) == 0:
		return "", nil
	case len(vs) > 1:
		return "", posthouse.Invalid(KeyHeader, "is given twice")
	case !r.Route.Keyed:
		return "", &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: KeyHeader, Message: "is not taken by this path",
			Hint: "leave it out: /openapi.json says which paths take it; a decision is taken once without one",
		}
	}
	key := vs[0]
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return "", posthouse.Invalid(KeyHeader, "must be 1 to %d printable ASCII characters without spaces", maxKey)
	}
	return key, nil
}

// A keptRequest is the request that a key names.
type keptRequest struct {
	Digest string           `json:"digest"` // of what was sent, under the key, which is not stored
	Thread string           `json:"thread"`
	After  uint64           `json:"after"` // the thread's end before the request
	Run    string           `json:"run"`
	Until  posthouse.Millis `json:"until"`
	By     string           `json:"by,omitempty"` // the token that sent it
}

// Keys are the requests that clients named. They are kept in slots of the store,
// so they hold in every process and after a restart.
type Keys struct {
	calls *Calls
	now   func() time.Time

	mu sync.Mutex // held from looking a key up until its call has begun
}

// NewKeys returns the keys of calls.
func NewKeys(calls *Calls, now func() time.Time) *Keys { return &Keys{calls: calls, now: now} }

// Start sets an agent to work on a message, once for each key of its sender. Sent
// again, it returns the same call. If another process had that call, it returns
// nil and the thread with the request.
func (k *Keys) Start(ctx context.Context, key string, m Message) (c *Call, thread string, again bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	rec, again, err := k.reserve(ctx, key, &m)
	if err != nil {
		return nil, "", false, err
	}
	if again {
		c := k.calls.Known.Find(rec.Run, m.By)
		if c != nil && c.Feed.Run == rec.Run && !c.refused() {
			return c, rec.Thread, true, nil
		}
		switch t, err := k.calls.Ledger.Thread(ctx, rec.Thread); {
		case err == nil && t.Tail.Seq > rec.After:
			return nil, rec.Thread, true, nil
		case err != nil && !errors.Is(err, posthouse.ErrNotFound):
			return nil, "", false, err
		}
	}
	m.Thread, m.Feed = rec.Thread, feed.New(rec.Run)
	c, err = k.calls.Start(m)
	return c, rec.Thread, false, err
}

// A Reserved is the request that a key stands for.
type Reserved struct {
	Thread string
	Again  bool   // it was sent before
	After  uint64 // the thread's end before it
}

// Reserve finds the request that a key names, or keeps this one under it, for callers that work on
// it themselves.
func (k *Keys) Reserve(ctx context.Context, key string, m *Message) (*Reserved, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	rec, again, err := k.reserve(ctx, key, m)
	if err != nil {
		return nil, err
	}
	return &Reserved{rec.Thread, again, rec.After}, nil
}

// reserve finds the key's request, or keeps this one under it.
func (k *Keys) reserve(ctx context.Context, key string, m *Message) (rec *keptRequest, again bool, err error) {
	sum := sha256.Sum256([]byte(m.By + "\x00" + m.Agent + "\x00" + key))
	name, digest := hex.EncodeToString(sum[1:]), m.digest(key)
	slot := posthouse.SlotKey{Thread: keysThread, Step: hex.EncodeToString(sum[:1])}
	for {
		kept, now := map[string]*keptRequest{}, posthouse.Millis(k.now().UnixMilli())
		have, err := k.calls.Ledger.Store().Slot(ctx, slot, posthouse.SlotOp{Verb: posthouse.SlotGet})
		if err == nil && json.Unmarshal(have.Value, &kept) != nil {
			err = &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "the requests kept by " + KeyHeader + " do not decode"}
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return nil, false, err
		}
		if rec := kept[name]; rec != nil && now < rec.Until {
			if rec.Digest != digest {
				return nil, false, &posthouse.Error{
					Code: problem.CodeKeyReused, Field: KeyHeader, Message: "was sent with another request before",
					Hint: "send that request again, or give this one a key of its own",
				}
			}
			return rec, true, nil
		}
		for other, rec := range kept {
			if now >= rec.Until {
				delete(kept, other)
			}
		}
		own := 0
		for _, rec := range kept {
			if rec.By == m.By {
				own++
			}
		}
		if len(kept) >= keysOfSlot || own >= keysOfSlot/2 {
			return nil, false, &posthouse.Error{Code: problem.CodeTooMany, Message: "too many requests of the last day have a key", Hint: "send it without one"}
		}
		rec, err := k.fresh(ctx, m, digest, now)
		if err != nil {
			return nil, false, err
		}
		rec.By = m.By
		kept[name] = rec
		value, err := json.Marshal(kept)
		if err != nil {
			return nil, false, err
		}
		_, err = k.calls.Ledger.Store().Slot(ctx, slot, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: have.Revision})
		if !errors.Is(err, posthouse.ErrConflict) {
			return rec, false, err
		}
	}
}

// fresh returns the record of a key that was never sent.
func (k *Keys) fresh(ctx context.Context, m *Message, digest string, now posthouse.Millis) (*keptRequest, error) {
	l := k.calls.Ledger
	rec := &keptRequest{Digest: digest, Thread: m.Thread, Run: string(l.Core().NewID()), Until: now + posthouse.Millis(keepKeys.Milliseconds())}
	if m.Thread == "" {
		rec.Thread = string(l.Core().NewID())
		return rec, nil
	}
	t, err := l.Thread(ctx, m.Thread)
	if err == nil {
		rec.After = t.Tail.Seq
	} else if errors.Is(err, posthouse.ErrNotFound) {
		err = nil
	}
	return rec, err
}

// digest identifies a message. It depends on the key, so that a reader of the store
// cannot check a guess of the message.
func (m *Message) digest(key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(m.Thread + "\x00" + m.Text))
	if m.Withdraw {
		mac.Write([]byte("\x00withdraw"))
	}
	return hex.EncodeToString(mac.Sum(nil))
}
