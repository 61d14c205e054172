package crypt

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// Status returns whether the store is encrypted, as it has it on record. A
// store of a version that kept no such record is looked through, once. It needs no
// Cipher.
func Status(ctx context.Context, led core.Ledger) (*posthouse.Encryption, error) {
	l := led.Core()

	return core.FindEncryption(ctx, l.Store, l.Config.Now())
}

// WriteInClear puts on record that an encrypted store may be written in the clear
// from now on. Without it a Ledger that has no Cipher is refused, whichever thread it
// writes to. What is sealed stays so, and threads that have been sealed still need
// their keys. A Ledger with a Cipher that writes later marks the store as encrypted
// again. d.At is the time of the decision. [posthouse.ErrInvalid] without By or Reason, or
// where c, the Cipher of the Ledger that is to write, is not nil. A store that may be written in the clear already is left as it is.
func WriteInClear(ctx context.Context, led core.Ledger, d posthouse.ClearDecision) (*posthouse.Encryption, error) {
	l := led.Core()

	if err := core.CheckClearDecision(&d); err != nil {
		return nil, err
	}
	if l.Config.Cipher != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "Cipher", Message: "is set: this ledger encrypts whatever it writes", Hint: "open the ledger without Options.Cipher"}
	}
	if _, err := Status(ctx, l); err != nil {
		return nil, err
	}
	m, err := core.ChangeMark(ctx, l.Store, func(m *core.EncryptionMark, _ bool) (bool, error) {
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
