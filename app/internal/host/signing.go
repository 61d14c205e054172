package host

import (
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/sign"
)

// signingKey returns the directory's signing key, and makes it at the first start. The mark of
// the directory names the key that signs its store: one that is lost is not replaced in silence,
// nor one that another took the place of without a rotation, unless NewKey is set.
func (o *Options) signingKey() (*sign.Key, error) {
	path := o.Dir.Key()
	mark, err := o.Dir.Mark()
	if err != nil {
		return nil, err
	}
	have, err := sign.Load(path)
	switch {
	case err != nil && !errors.Is(err, posthouse.ErrNotFound):
		return nil, err
	case mark == nil || o.NewKey:
	case err != nil:
		if was, ok := o.signedBy(mark.Key); ok {
			return nil, o.lostKey(was, "is not there")
		}
	case mark.Key != "" && have.KeyID() != mark.Key:
		ring, err := sign.LoadRing(path + sign.PublicSuffix)
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return nil, err
		}
		_, old := ring.Key(mark.Key)
		if _, now := ring.Key(have.KeyID()); !old || !now { // a rotation puts both into the ring
			return nil, o.lostKey(mark.Key, "is another, "+have.KeyID())
		}
	}
	key, err := sign.LoadOrCreate(path)
	if err == nil && mark != nil && mark.Key != key.KeyID() {
		mark.Key = key.KeyID()
		err = o.Dir.SetMark(*mark)
	}
	return key, err
}

// signedBy returns the key that has signed the entries of the directory's store: the mark's or,
// for a mark of an earlier version without a key, the newest of the public keys beside it.
func (o *Options) signedBy(marked string) (id string, ok bool) {
	if marked != "" {
		return marked, true
	}
	ring, err := sign.LoadRing(o.Dir.Key() + sign.PublicSuffix)
	if err != nil {
		return "", false
	}
	newest := sign.Public{}
	for _, k := range ring.Keys() {
		if id == "" || k.NotBefore.After(newest.NotBefore) {
			id, newest = k.ID, k
		}
	}
	return id, id != ""
}

func (o *Options) lostKey(id, how string) error {
	return &posthouse.Error{
		Code: posthouse.CodeNotFound, Field: "signing key",
		Message: "of the data directory " + string(o.Dir) + " " + how + ": key " + id + " has signed what is in its store, and belongs in " + o.Dir.Key(),
		Hint:    "put the file back from where it is kept; to sign with a new key from now on: posthouse serve --new-key. What the old one signed is verified with its public key, in " + o.Dir.Key() + sign.PublicSuffix,
	}
}
