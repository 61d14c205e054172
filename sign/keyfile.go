package sign

import (
	"cmp"
	"errors"
	"io/fs"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
)

// PublicSuffix is added to the path of a key file for the path of its ring.
const PublicSuffix = ".pub"

// LoadOrCreate loads the private key in the file, or makes a key if the file is missing. A
// new file has mode 0600, is complete or absent, and is on disk when LoadOrCreate returns.
// If several processes start at once, one makes the key and all load it. The directory
// must exist. LoadOrCreate adds the public key to the ring in path.pub if it is missing.
//
// It fails with [posthouse.ErrInvalid] if other users may read the file.
func LoadOrCreate(path string) (*Key, error) {
	key, err := Load(path)
	if errors.Is(err, posthouse.ErrNotFound) {
		err = create(path)
		if err == nil {
			key, err = Load(path)
		}
	}
	if err != nil {
		return nil, err
	}
	ring, err := loadRing(path + PublicSuffix)
	if err != nil {
		return nil, err
	}
	if _, ok := ring.Key(key.KeyID()); ok {
		return key, nil
	}
	return key, extend(path+PublicSuffix, ring, key.Public())
}

// Load loads the private key in the file. It fails with [posthouse.ErrNotFound] if there is
// no file, and with [posthouse.ErrInvalid] if it holds no key or other users may read it.
func Load(path string) (*Key, error) {
	return secretfile.LoadSecret(path, 1<<16, ParseKey)
}

func create(path string) error {
	key, err := Generate()
	if err != nil {
		return err
	}
	data, err := key.encode()
	if err != nil {
		return err
	}
	err = secretfile.WriteNew(path, data, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was first, so its key is used
	}
	return err
}

// LoadRing loads a ring from a file. It fails with [posthouse.ErrNotFound] or, if the file
// is not a ring, with [posthouse.ErrInvalid].
func LoadRing(path string) (*Ring, error) {
	return secretfile.Load(path, maxRing, ParseRing)
}

// loadRing is LoadRing, with an empty ring if there is no file.
func loadRing(path string) (*Ring, error) {
	ring, err := LoadRing(path)
	if errors.Is(err, posthouse.ErrNotFound) {
		return &Ring{}, nil
	}
	return ring, err
}

func extend(path string, ring *Ring, k Public) error {
	ring, err := ring.with(k)
	if err != nil {
		return err
	}
	data, err := ring.MarshalText()
	if err != nil {
		return err
	}
	return secretfile.Replace(path, data, 0o644)
}

// RotateOptions configure [Rotate].
type RotateOptions struct {
	// Now is the clock; default time.Now.
	Now func() time.Time

	// Overlap is how long the old key may still sign, in processes that have loaded it, and
	// how slow a clock may be; default 24 hours.
	Overlap time.Duration
}

// Rotate replaces the private key in the file by a new one and returns it. It adds the new
// key to the ring in path.pub first and the end of the old key last, so the key in the file
// is in the ring at any time. Running processes use the old key until they are restarted.
// The old private key is lost, and what it signed stays verifiable. Only one process at a
// time may rotate a key file.
func Rotate(path string, o *RotateOptions) (*Key, error) {
	if o == nil {
		o = &RotateOptions{}
	}
	if o.Overlap < 0 {
		return nil, posthouse.Invalid("Overlap", "is negative")
	}
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	at := now().UTC().Truncate(time.Second)
	old, err := Load(path)
	if err != nil {
		return nil, err
	}
	key, err := Generate()
	if err != nil {
		return nil, err
	}
	if err := rotate(path, old.Public(), key, at, cmp.Or(o.Overlap, 24*time.Hour)); err != nil {
		return nil, err
	}
	return key, nil
}

func rotate(path string, old Public, key *Key, at time.Time, overlap time.Duration) error {
	pub := path + PublicSuffix
	ring, err := loadRing(pub)
	if err != nil {
		return err
	}
	if known, ok := ring.Key(old.ID); ok {
		old = known
	}
	ring, err = ring.with(old)
	if err != nil {
		return err
	}
	next := key.Public()
	next.NotBefore = at.Add(-overlap)
	if err := extend(pub, ring, next); err != nil {
		return err
	}
	data, err := key.encode()
	if err != nil {
		return err
	}
	if err := secretfile.Replace(path, data, 0o600); err != nil {
		return err
	}
	ring, err = ring.with(next)
	if err != nil {
		return err
	}
	old.NotAfter = at.Add(overlap + time.Second)
	return extend(pub, ring, old)
}
