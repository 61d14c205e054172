package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/problem"
)

// keyHeader has the name of a request that its client may have to send again.
const keyHeader = "Idempotency-Key"

const (
	maxKey     = 255                    // bytes of a key
	keepKeys   = 24 * time.Hour         // how long a key stands for its request
	keysThread = "$requests"            // of the slots
	keysOfSlot = 1000                   // requests in one of the 256 slots, half of them one token's at most
	replayed   = "Idempotency-Replayed" // the header of an answer to a request that was sent before
)

// idempotencyKey returns the key of a request, "" for none.
func idempotencyKey(r *api.Request) (string, error) {
	vs := r.Header.Values(keyHeader)
	switch {
	case len(vs) == 0:
		return "", nil
	case len(vs) > 1:
		return "", posthouse.Invalid(keyHeader, "is given twice")
	case !r.Route.Keyed:
		return "", &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: keyHeader, Message: "is not taken by this path",
			Hint: "leave it out: /openapi.json says which paths take it; a decision is taken once without one",
		}
	}
	key := vs[0]
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return "", posthouse.Invalid(keyHeader, "must be 1 to %d printable ASCII characters without spaces", maxKey)
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

// keys are the requests that clients named. They are kept in slots of the store,
// so they hold in every process and after a restart.
type keys struct {
	s  *Server
	mu sync.Mutex // held from looking a key up until its call has begun
}

// start sets an agent to work on a message, once for each key of its sender. Sent
// again, it returns the same call. If another process had that call, it returns
// nil and the thread with the request.
func (k *keys) start(ctx context.Context, key string, m message) (c *call, thread string, again bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	rec, again, err := k.reserve(ctx, key, &m)
	if err != nil {
		return nil, "", false, err
	}
	if again {
		c := k.s.runs.find(rec.Run, m.by)
		if c != nil && c.feed.Run == rec.Run && !c.refused() {
			return c, rec.Thread, true, nil
		}
		switch t, err := k.s.ledger.Thread(ctx, rec.Thread); {
		case err == nil && t.Tail.Seq > rec.After:
			return nil, rec.Thread, true, nil
		case err != nil && !errors.Is(err, posthouse.ErrNotFound):
			return nil, "", false, err
		}
	}
	m.thread, m.feed = rec.Thread, feed.New(rec.Run)
	c, err = k.s.start(m)
	return c, rec.Thread, false, err
}

// reserve finds the key's request, or keeps this one under it.
func (k *keys) reserve(ctx context.Context, key string, m *message) (rec *keptRequest, again bool, err error) {
	sum := sha256.Sum256([]byte(m.by + "\x00" + m.agent + "\x00" + key))
	name, digest := hex.EncodeToString(sum[1:]), m.digest(key)
	slot := posthouse.SlotKey{Thread: keysThread, Step: hex.EncodeToString(sum[:1])}
	for {
		kept, now := map[string]*keptRequest{}, posthouse.Millis(k.s.now().UnixMilli())
		have, err := k.s.ledger.Store().Slot(ctx, slot, posthouse.SlotOp{Verb: posthouse.SlotGet})
		if err == nil && json.Unmarshal(have.Value, &kept) != nil {
			err = &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "the requests kept by " + keyHeader + " do not decode"}
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return nil, false, err
		}
		if rec := kept[name]; rec != nil && now < rec.Until {
			if rec.Digest != digest {
				return nil, false, &posthouse.Error{
					Code: posthouse.CodeExists, Field: keyHeader, Message: "was sent with another request before",
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
			if rec.By == m.by {
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
		rec.By = m.by
		kept[name] = rec
		value, err := json.Marshal(kept)
		if err != nil {
			return nil, false, err
		}
		_, err = k.s.ledger.Store().Slot(ctx, slot, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: have.Revision})
		if !errors.Is(err, posthouse.ErrConflict) {
			return rec, false, err
		}
	}
}

// fresh returns the record of a key that was never sent.
func (k *keys) fresh(ctx context.Context, m *message, digest string, now posthouse.Millis) (*keptRequest, error) {
	l := k.s.ledger
	rec := &keptRequest{Digest: digest, Thread: m.thread, Run: string(l.Core().NewID()), Until: now + posthouse.Millis(keepKeys.Milliseconds())}
	if m.thread == "" {
		rec.Thread = string(l.Core().NewID())
		return rec, nil
	}
	t, err := l.Thread(ctx, m.thread)
	if err == nil {
		rec.After = t.Tail.Seq
	} else if errors.Is(err, posthouse.ErrNotFound) {
		err = nil
	}
	return rec, err
}

// digest identifies a message. It depends on the key, so nobody who reads the store
// can check a guess of the message.
func (m *message) digest(key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(m.thread + "\x00" + m.text))
	if m.withdraw {
		mac.Write([]byte("\x00withdraw"))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// refused reports whether the call has ended because its agent did not take the
// message.
func (c *call) refused() bool {
	select {
	case <-c.done:
		return c.err != nil
	default:
		return false
	}
}

// beginAgent starts a request, with a key or without. Where it returns neither a call
// nor an error, the request was answered.
func (s *Server) beginAgent(w http.ResponseWriter, r *api.Request, m message) (*call, error) {
	key, err := idempotencyKey(r)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return s.start(m)
	}
	if err := s.validateMessage(&m); err != nil {
		return nil, err
	}
	c, thread, again, err := s.keys.start(r.Context(), key, m)
	if err != nil {
		return nil, err
	}
	if again {
		w.Header().Set(replayed, "true")
	}
	if c == nil {
		return nil, s.accepted(w, r, &pending{checkpoint: &posthouse.Header{Thread: thread}})
	}
	return c, nil
}
