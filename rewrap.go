package posthouse

import (
	"context"
	"errors"
)

// A Posture says how a Ledger protects what it writes.
type Posture struct {
	EncryptsAtRest bool   `json:"encryptsAtRest"`          // bodies are sealed before they reach the store
	EncryptionKey  string `json:"encryptionKey,omitempty"` // id of the key that new data keys are wrapped with
	Signs          bool   `json:"signs"`
	SigningKey     string `json:"signingKey,omitempty"` // id of the key that signs entries
}

// Posture returns how this Ledger protects what it writes. What was written
// before may differ: [ThreadInfo.Sealed] and [Ledger.KeyUse] tell.
func (l *Core) Posture() Posture {
	var p Posture
	if l.opt.Cipher != nil {
		p.EncryptsAtRest, p.EncryptionKey = true, l.opt.Cipher.Current()
	}
	if l.opt.Signer != nil {
		p.Signs, p.SigningKey = true, l.opt.Signer.KeyID()
	}
	return p
}

// EncryptsAtRest reports whether bodies are sealed before they reach the store.
func (l *Core) EncryptsAtRest() bool { return l.opt.Cipher != nil }

// A Rewrapped counts data keys.
type Rewrapped struct {
	Keys    int `json:"keys"`    // wrapped with the current key now
	Current int `json:"current"` // that were before
	Failed  int `json:"failed"`  // that could not be unwrapped; they stay as they are
}

// Rewrap wraps every data key with the Cipher's current key, where it is
// wrapped with another: afterwards the other keys can be removed, which
// [Ledger.KeyUse] confirms. No entry is touched, no hash changes, and threads
// stay in use meanwhile. It may be killed at any point and called again: what
// is done is done. First see that no process still wraps with the old key.
//
// A data key that cannot be unwrapped is counted, and does not stop the others;
// the error, [ErrSealed], is of the first. [ErrUnsupported] without a Cipher.
func (l *Core) Rewrap(ctx context.Context) (*Rewrapped, error) {
	if l.opt.Cipher == nil {
		return nil, &Error{Code: CodeUnsupported, Message: "this ledger has no keys", Hint: "set Options.Cipher"}
	}
	done := &Rewrapped{}
	var failed error
	err := l.eachDataKey(ctx, func(of dataKeyOf) error {
		err := l.rewrap(ctx, of, done)
		if errors.Is(err, ErrSealed) {
			done.Failed++
			if failed == nil {
				failed = err
			}
			return nil
		}
		return err
	})
	if err == nil {
		err = failed
	}
	return done, err
}

func (l *Core) rewrap(ctx context.Context, of dataKeyOf, done *Rewrapped) error {
	for range maxRetries {
		w, revision, err := l.wrappedKey(ctx, of)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if w.Key == l.opt.Cipher.Current() {
			done.Current++
			return nil
		}
		raw, err := l.unwrap(ctx, of, w)
		if err != nil {
			return err
		}
		value, err := l.wrap(ctx, of, raw)
		if err != nil {
			return err
		}
		_, err = l.store.Slot(ctx, of.slot(), SlotOp{Verb: SlotPut, Value: value, Revision: revision})
		if err == nil {
			done.Keys++
		}
		if err == nil || !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return &Error{Code: CodeConflict, Message: "the data key of thread " + of.thread + " is being wrapped elsewhere", Hint: "try again"}
}

// KeyUse counts the store's data keys by the key they are wrapped with. A key
// that is not in it can be removed. It needs no Cipher.
func (l *Core) KeyUse(ctx context.Context) (map[string]int, error) {
	use := map[string]int{}
	err := l.eachDataKey(ctx, func(of dataKeyOf) error {
		w, _, err := l.wrappedKey(ctx, of)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err == nil {
			use[w.Key]++
		}
		return err
	})
	return use, err
}

// eachDataKey calls do for every data key that there may be.
func (l *Core) eachDataKey(ctx context.Context, do func(dataKeyOf) error) error {
	for t, err := range l.store.Threads(ctx, ThreadQuery{}) {
		if err != nil {
			return err
		}
		for g := uint32(1); g <= t.Generation; g++ {
			if err := do(dataKeyOf{t.Thread, g}); err != nil {
				return err
			}
		}
	}
	return nil
}
