package ledger

// An EncryptionStatus says how a Ledger protects what it writes.
type EncryptionStatus struct {
	EncryptsAtRest bool   `json:"encryptsAtRest"`          // bodies are sealed before they reach the store
	EncryptionKey  string `json:"encryptionKey,omitempty"` // id of the key that new data keys are wrapped with
	Signs          bool   `json:"signs"`
	SigningKey     string `json:"signingKey,omitempty"` // id of the key that signs entries
}

// EncryptionStatus returns how this Ledger protects what it writes. Earlier entries
// may differ: [posthouse.ThreadInfo.Sealed] and [crypt.KeyUse] tell.
func (l *Ledger) EncryptionStatus() EncryptionStatus {
	var p EncryptionStatus
	if l.core.Config.Cipher != nil {
		p.EncryptsAtRest, p.EncryptionKey = true, l.core.Config.Cipher.Current()
	}
	if l.core.Config.Signer != nil {
		p.Signs, p.SigningKey = true, l.core.Config.Signer.KeyID()
	}
	return p
}
