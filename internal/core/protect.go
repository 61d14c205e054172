package core

import "github.com/posthouse/posthouse/internal/encryption"

// Seals reports whether the bodies are to be sealed.
func (tx *Tx) Seals() bool { return tx.Core.Config.Cipher != nil || tx.Thread.Info.Sealed }

// protect seals the entry's bodies, or checks that the store takes them in the clear.
func (tx *Tx) protect() error {
	info := tx.Thread.Info
	if tx.Seals() {
		of := encryption.DataKeyOf{Thread: tx.Thread.Name, Generation: max(info.Generation, 1)}
		return tx.Core.Vault.Seal(tx.Ctx, of, info.Sealed, tx.Seq, tx.Records, tx.Bodies)
	}
	if tx.clearBodies() {
		return tx.Core.Vault.CheckClear(tx.Ctx, tx.At)
	}
	return nil
}

// clearBodies reports whether the entry has a body that an encrypted store would seal.
func (tx *Tx) clearBodies() bool {
	for i, body := range tx.Bodies {
		if len(body) > 0 && tx.Records[i].Kind.Seals() {
			return true
		}
	}
	return false
}
