package tokens

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/filelock"
)

// usedFile holds, by the hash of each token, when it was last used. It is apart
// from the tokens since it changes often and nothing depends on it.
const usedFile = "tokens-used.json"

const usedStep = time.Minute

// usage is what this process knows of when tokens were used.
type usage struct {
	mu     sync.Mutex
	seen   map[posthouse.Hash]time.Time
	dirty  bool
	saving bool
}

// Used notes that a token was used. If save is true the caller is to call SaveUsed,
// in the background.
func (t *List) Used(x Token) (save bool) {
	u, at := &t.usage, t.now().UTC().Truncate(usedStep)
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.seen[x.Hash].Before(at) {
		return false
	}
	u.seen[x.Hash], u.dirty = at, true
	save, u.saving = !u.saving, true
	return save
}

// SaveUsed writes what Used has noted until there is nothing new. After an error the
// next call tries again.
func (t *List) SaveUsed() error {
	u := &t.usage
	for {
		u.mu.Lock()
		if !u.dirty {
			u.saving = false
			u.mu.Unlock()
			return nil
		}
		seen := maps.Clone(u.seen)
		u.dirty = false
		u.mu.Unlock()
		if err := t.writeUsed(seen); err != nil {
			u.mu.Lock()
			u.dirty, u.saving = true, false
			u.mu.Unlock()
			return err
		}
	}
}

// writeUsed merges what this process saw with what others wrote.
func (t *List) writeUsed(seen map[posthouse.Hash]time.Time) error {
	path := filepath.Join(t.dir, usedFile)
	lock, err := filelock.Take(path + ".lock")
	if errors.Is(err, filelock.ErrHeld) {
		return &posthouse.Error{Code: posthouse.CodeLocked, Message: "another process writes " + path, Hint: "it is tried again within a minute"}
	}
	if err != nil {
		return fileError(path, "cannot be locked", err)
	}
	defer lock.Close()
	t.mu.Lock()
	known, loaded := slices.Clone(t.tokens), t.loaded != nil
	t.mu.Unlock()
	all := readUsed(path)
	merge(all, seen)
	maps.DeleteFunc(all, func(h posthouse.Hash, _ time.Time) bool { // what was revoked is forgotten
		return loaded && !slices.ContainsFunc(known, func(x Token) bool { return x.Hash == h })
	})
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fileError(path, "cannot be encoded", err)
	}
	return writeFile(path, append(data, '\n'))
}

// readUsed reads the file. One that is missing or damaged says nothing.
func readUsed(path string) map[posthouse.Hash]time.Time {
	all := map[posthouse.Hash]time.Time{}
	f, err := os.Open(path)
	if err != nil {
		return all
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(data) > maxFile || json.Unmarshal(data, &all) != nil || all == nil {
		return map[posthouse.Hash]time.Time{}
	}
	return all
}

// lastUsed returns what is known of when tokens were used, here and on file.
func (t *List) lastUsed() map[posthouse.Hash]time.Time {
	all := readUsed(filepath.Join(t.dir, usedFile))
	t.usage.mu.Lock()
	defer t.usage.mu.Unlock()
	merge(all, t.usage.seen)
	return all
}

// merge keeps the later time of each token.
func merge(all, seen map[posthouse.Hash]time.Time) {
	for h, at := range seen {
		if at.After(all[h]) {
			all[h] = at
		}
	}
}
