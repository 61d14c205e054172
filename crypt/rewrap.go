package crypt

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/ledger"
)

// A Rewrapped counts data keys.
type Rewrapped struct {
	Keys    int `json:"keys"`    // wrapped with the current key now
	Current int `json:"current"` // wrapped with it before
	Failed  int `json:"failed"`  // left as they are, because they could not be unwrapped
}

// Rewrap wraps every data key with the Cipher's current key, if another key wraps it now.
// Afterwards the other keys can be removed, which [KeyUse] confirms. It touches no entry
// and changes no hash, and threads may be in use. It may be killed at any point and called
// again. First make sure that no process still wraps with the old key.
//
// A data key that cannot be unwrapped is counted and does not stop the others. The error
// is [posthouse.ErrSealed] for the first of them, and [posthouse.ErrUnsupported] without a
// Cipher.
func Rewrap(ctx context.Context, led *ledger.Ledger) (*Rewrapped, error) {
	l := led.Core()
	if l.Config.Cipher == nil {
		return nil, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this ledger has no keys", Hint: "set Options.Cipher"}
	}
	done := &Rewrapped{}
	var failed error
	err := eachDataKey(ctx, l.Store, func(of encryption.DataKeyOf) error {
		err := rewrap(ctx, l.Store, l.Config.Cipher, of, done)
		if errors.Is(err, posthouse.ErrSealed) {
			done.Failed++
			failed = cmp.Or(failed, err)
			return nil
		}
		return err
	})
	return done, cmp.Or(err, failed)
}

func rewrap(ctx context.Context, s posthouse.Store, c posthouse.Cipher, of encryption.DataKeyOf, done *Rewrapped) error {
	for range encryption.MaxTries {
		w, revision, err := encryption.ReadWrappedKey(ctx, s, of)
		if errors.Is(err, posthouse.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if w.Key == c.Current() {
			done.Current++
			return nil
		}
		raw, err := encryption.Unwrap(ctx, c, of, w)
		if err != nil {
			return err
		}
		value, err := encryption.Wrap(ctx, c, of, raw)
		if err != nil {
			return err
		}
		_, err = s.Slot(ctx, of.Slot(), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision})
		if err == nil {
			done.Keys++
		}
		if err == nil || !errors.Is(err, posthouse.ErrConflict) {
			return err
		}
	}
	return &posthouse.Error{Code: posthouse.CodeConflict, Message: "the data key of thread " + of.Thread + " is being wrapped elsewhere", Hint: "try again"}
}

// KeyUse counts the store's data keys by the key that wraps them. A key that is not in
// the result can be removed. It needs no Cipher.
func KeyUse(ctx context.Context, led *ledger.Ledger) (map[string]int, error) {
	l := led.Core()
	use := map[string]int{}
	err := eachDataKey(ctx, l.Store, func(of encryption.DataKeyOf) error {
		w, _, err := encryption.ReadWrappedKey(ctx, l.Store, of)
		if errors.Is(err, posthouse.ErrNotFound) {
			return nil
		}
		if err == nil {
			use[w.Key]++
		}
		return err
	})
	return use, err
}

// eachDataKey calls do for every data key that may exist.
func eachDataKey(ctx context.Context, s posthouse.Store, do func(encryption.DataKeyOf) error) error {
	for t, err := range s.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return err
		}
		for g := uint32(1); g <= t.Generation; g++ {
			if err := do(encryption.DataKeyOf{Thread: t.Thread, Generation: g}); err != nil {
				return err
			}
		}
	}
	return nil
}
