package host

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/crypt/keyfile"
	"github.com/posthouse/posthouse/ledger"
)

// KeysPath returns the file of encryption keys: path, or the data directory's
// own.
func KeysPath(path string, dir datadir.Dir) string {
	return cmp.Or(path, dir.EncryptionKeys())
}

// cipher returns the cipher of the key file, nil without such a file. rotating says that
// the file has more than one key. It makes the file if asked to, but not for a store that is encrypted already: its key is
// lost, and a new one would open nothing.
func (o *Options) cipher(ctx context.Context, store posthouse.Store) (_ posthouse.Cipher, rotating bool, err error) {
	path := KeysPath(o.Keys, o.Dir)
	keys, err := keyfile.Load(path)
	if o.Encrypt && errors.Is(err, posthouse.ErrNotFound) {
		if err := o.checkPlain(ctx, store, path); err != nil {
			return nil, false, err
		}
		keys, err = keyfile.LoadOrCreate(path)
	}
	if errors.Is(err, posthouse.ErrNotFound) && o.Keys == "" {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	ring, err := keys.Keyring()
	return ring, len(keys.IDs()) > 1, err
}

// checkPlain fails if a store is encrypted, by a key that is not at hand.
func (o *Options) checkPlain(ctx context.Context, store posthouse.Store, path string) error {
	l, err := ledger.Open(store, &ledger.Options{Logger: o.Logger})
	if err != nil {
		return err
	}
	return errors.Join(unsealed(ctx, l, path), l.Close())
}

// unsealed refuses to start without keys over a store that is encrypted, since the
// Ledger would refuse each write.
func unsealed(ctx context.Context, l *ledger.Ledger, path string) error {
	if l.EncryptionStatus().EncryptsAtRest {
		return nil
	}
	found, err := crypt.Status(ctx, l)
	if err == nil && found.Encrypted {
		err = &posthouse.Error{
			Code: posthouse.CodeSealed, Message: "this store is encrypted, and there are no keys at " + path,
			Hint: "put the key file back, or say where it is with --keys or POSTHOUSE_KEYS; to write in the clear from now on, see posthouse encryption clear --help",
		}
	}
	return err
}

// Rewrap wraps all data keys with the current key while the server runs. Failures are
// logged, and the next start tries again.
func (h *Host) Rewrap(ctx context.Context) {
	if !h.rotating {
		return
	}
	done, err := crypt.Rewrap(ctx, h.Ledger)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		h.log.Error("data keys could not be wrapped with the current key", "failed", done.Failed, "error", err)
	case done.Keys > 0:
		h.log.Info("data keys are wrapped with the current key", "keys", done.Keys, "before", done.Current)
	}
}
