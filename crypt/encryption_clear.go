package crypt

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/ledger"
)

// Status returns the store's record of whether it is encrypted. It searches a store of an
// older version, which has no such record, once. It needs no Cipher.
func Status(ctx context.Context, led *ledger.Ledger) (*posthouse.Encryption, error) {
	l := led.Core()
	return encryption.Find(ctx, l.Store, l.Config.Now())
}

// WriteInClear records that an encrypted store may be written in the clear from now on.
// Without that record the store refuses every write of a Ledger that has no Cipher. Sealed
// bodies stay sealed, and threads with sealed bodies still need their keys. A Ledger with
// a Cipher that writes later marks the store as encrypted again. WriteInClear sets d.At. It
// changes nothing if the store may be written in the clear already. It fails with
// [posthouse.ErrInvalid] without By or Reason, or if the Ledger has a Cipher.
func WriteInClear(ctx context.Context, led *ledger.Ledger, d posthouse.ClearDecision) (*posthouse.Encryption, error) {
	l := led.Core()
	if err := encryption.CheckClearDecision(&d); err != nil {
		return nil, err
	}
	if l.Config.Cipher != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "Cipher", Message: "is set: this ledger encrypts whatever it writes", Hint: "open the ledger without Options.Cipher"}
	}
	if _, err := Status(ctx, led); err != nil {
		return nil, err
	}
	m, err := encryption.ChangeMark(ctx, l.Store, func(m *encryption.Mark, _ bool) (bool, error) {
		if !m.Encrypted {
			return false, nil
		}
		d.At, d.Thread = posthouse.ToMillis(l.Config.Now()), ""
		m.Encrypted, m.Since = false, d.At
		m.Decide(d)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return &m.Encryption, nil
}
