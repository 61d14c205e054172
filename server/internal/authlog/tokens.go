package authlog

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/filelock"
	"github.com/posthouse/posthouse/internal/secretfile"
	"github.com/posthouse/posthouse/server/tokens"
)

// KnownFile says, beside the tokens, which of them are on record. It has hashes only. Without it
// the tokens that are there when a server starts are taken as known.
const KnownFile = "tokens-recorded.json"

const (
	maxKnown  = 1 << 20 // bytes of the file
	lockTries = 100     // while another server of the directory has its look
	lockStep  = 20 * time.Millisecond
)

// A knownToken is one that is on record.
type knownToken struct {
	Name string         `json:"name"`
	Role tokens.Role    `json:"role"`
	Hash posthouse.Hash `json:"hash"`

	Confirmed bool `json:"confirmed,omitempty"` // as another person's than its maker's
}

func (k knownToken) is(t knownToken) bool {
	return k.Name == t.Name && k.Role == t.Role && k.Hash == t.Hash
}

// known is what a server knows of the tokens on record.
type known struct {
	mu     sync.Mutex    // tokens are changed or looked at
	looked atomic.Uint64 // the reading of the list that was compared last
}

// Create makes a token that is on record before its secret is returned. If it cannot be put on record
// it is revoked again.
func (l *Log) Create(ctx context.Context, by, address, name string, role tokens.Role, o *tokens.CreateOptions) (secret string, err error) {
	err = l.change(ctx, func() error {
		secret, err = l.o.Tokens.Create(name, role, o)
		if err != nil {
			return err
		}
		r := &record{kind: TokenMade, by: by, act: Act{Address: address}}
		t, _, err := l.o.Tokens.Authenticate(secret)
		if err == nil {
			r.act.setToken(&t)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendTime)
			defer cancel()
			err = l.append(ctx, []*record{r})
		}
		if err != nil {
			return errors.Join(err, l.o.Tokens.Revoke(name, &tokens.RevokeOptions{LastOperator: true}))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Revoke revokes a token, and records it. The token is revoked also where the store takes no record: then
// it is tried until the server closes.
func (l *Log) Revoke(ctx context.Context, by, address, name string) error {
	r := &record{kind: TokenRevoked, by: by, act: Act{Address: address}, done: make(chan struct{})}
	err := l.change(ctx, func() error {
		all, err := l.o.Tokens.All()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(t tokens.Token) bool { return t.Name == name }); i >= 0 {
			r.act.setToken(&all[i])
		}
		return l.o.Tokens.Revoke(name, nil)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.queue = append(l.queue, r)
	l.write()
	l.mu.Unlock()
	await(r)
	return nil
}

// Confirm has an operator say that a token is another person's than its maker's. It is on record
// before it counts.
func (l *Log) Confirm(ctx context.Context, by *tokens.Token, address, name string) error {
	return l.change(ctx, func() error {
		all, err := l.o.Tokens.All()
		if err != nil {
			return err
		}
		if err := l.o.Tokens.Confirm(name, &tokens.ConfirmOptions{By: by, DryRun: true}); err != nil {
			return err
		}
		r := &record{kind: TokenConfirmed, by: by.Name, act: Act{Address: address, Person: name}}
		if i := slices.IndexFunc(all, func(t tokens.Token) bool { return t.Name == name }); i >= 0 {
			r.act.setToken(&all[i])
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendTime)
		defer cancel()
		if err := l.append(ctx, []*record{r}); err != nil {
			return err
		}
		return l.o.Tokens.Confirm(name, &tokens.ConfirmOptions{By: by})
	})
}

// Look compares the tokens with those on record, in the background, if their file has changed since the
// last time.
func (l *Log) Look() {
	if l != nil && l.o.Tokens.Reads() != l.known.looked.Load() {
		l.o.Life.Go(func() { _ = l.change(l.o.Life.Work(), func() error { return nil }) }) // it logs what fails
	}
}

// change records what others changed, has do change the tokens, and notes which are on record after
// it. No other server of the directory looks in between. Only the error of do counts: where the rest
// fails, a later look records the change of do once more.
func (l *Log) change(ctx context.Context, do func() error) error {
	l.known.mu.Lock()
	defer l.known.mu.Unlock()
	path := filepath.Join(l.o.Tokens.Dir(), KnownFile)
	lock, err := take(ctx, path+".lock")
	if err == nil {
		defer lock.Close()
		err = l.compare(ctx, path)
	}
	if failed := do(); failed != nil {
		return failed
	}
	if err == nil {
		err = l.save(path)
	}
	if err != nil {
		l.o.Log.Warn("which tokens are on record cannot be compared", "file", path, "error", err)
	}
	return nil
}

// take takes a lock that others have for a moment only.
func take(ctx context.Context, path string) (*filelock.Lock, error) {
	for tries := 0; ; tries++ {
		lock, err := filelock.Take(path)
		if !errors.Is(err, filelock.ErrHeld) || tries == lockTries {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockStep):
		}
	}
}

// compare records which tokens were made and revoked since the file was written.
func (l *Log) compare(ctx context.Context, path string) error {
	reads := l.o.Tokens.Reads()
	now, err := l.current()
	if err != nil {
		return err
	}
	before, err := secretfile.LoadSecret(path, maxKnown, func(data []byte) (*[]knownToken, error) {
		all := new([]knownToken)
		return all, json.Unmarshal(data, all)
	})
	if err != nil {
		if !errors.Is(err, posthouse.ErrNotFound) {
			l.o.Log.Warn("which tokens are on record is not known: those that are there count as known", "error", err)
		}
		l.known.looked.Store(reads)
		return l.save(path)
	}
	var changed []*record
	note := func(k Kind, t knownToken) {
		changed = append(changed, &record{kind: k, act: Act{Person: t.Name, Role: string(t.Role), Beside: true}})
	}
	for _, t := range *before {
		if !slices.ContainsFunc(now, t.is) {
			note(TokenRevoked, t)
		}
	}
	for _, t := range now {
		i := slices.IndexFunc(*before, t.is)
		if i < 0 {
			note(TokenMade, t)
		} else if t.Confirmed && !(*before)[i].Confirmed {
			note(TokenConfirmed, t)
		}
	}
	for batch := range slices.Chunk(changed, entryLimit) {
		if err := l.append(ctx, batch); err != nil {
			return err
		}
	}
	l.known.looked.Store(reads)
	if len(changed) == 0 {
		return nil
	}
	return l.save(path)
}

// save notes that the tokens as they are now are on record.
func (l *Log) save(path string) error {
	now, err := l.current()
	if err != nil {
		return err
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return secretfile.Replace(path, append(data, '\n'), 0o600)
}

func (l *Log) current() (all []knownToken, err error) {
	list, err := l.o.Tokens.All()
	for i := range list {
		t := &list[i]
		all = append(all, knownToken{t.Name, t.Role, t.Hash, !t.Maker.IsZero() && t.IsConfirmed()})
	}
	return all, err
}
