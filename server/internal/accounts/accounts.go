package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/server/tokens"
)

// Thread has the records.
const Thread = authlog.Accounts

// The kinds of records. They are names of signals, which no program takes and no client sends.
const (
	Bound   = "$bound"   // an account was bound to a name
	Unbound = "$unbound" // an operator ended that
	Role    = "$role"    // somebody who logged in has another role than before
	Ended   = "$ended"   // an operator ended the logins of a person
)

// A Record is the value of a record.
type Record struct {
	Name    string         `json:"name"`
	Account posthouse.Hash `json:"account,omitzero"` // of issuer and subject
	Issuer  string         `json:"issuer,omitempty"`
	Role    tokens.Role    `json:"role,omitempty"`
	Was     string         `json:"was,omitempty"` // the issuer that Issuer replaced: its account with this name is bound no more
}

// A Book knows which account has which name. It is safe for concurrent use.
type Book struct {
	ledger *ledger.Ledger

	mu     sync.Mutex
	read   uint64                    // the entries up to this one were read
	names  map[posthouse.Hash]string // of accounts, as they are on record
	owners map[string]Record         // by the folded name
	ends   map[string]time.Time      // of logins, by the folded name
	roles  map[string]tokens.Role    // of the newest login, by the folded name
	looked time.Time                 // when it was read last
}

// lookTime is for how long what other servers wrote may be missed, besides at a login.
const lookTime = 5 * time.Second

// New returns the book of a Ledger's store.
func New(l *ledger.Ledger) *Book {
	return &Book{ledger: l, names: map[posthouse.Hash]string{}, owners: map[string]Record{}, ends: map[string]time.Time{}, roles: map[string]tokens.Role{}}
}

// hash names an account.
func hash(issuer, subject string) posthouse.Hash {
	data, _ := json.Marshal([]string{"posthouse/account/1", issuer, subject}) // of text only
	return sha256.Sum256(data)
}

// Enter returns the name of a person who logs in, and binds their account to it at the first login.
//
// [posthouse.ErrForbidden] for an account that its provider does not name, for a name that no person
// may have, and for one that is bound to another account: the hint has the command that frees it.
func (b *Book) Enter(ctx context.Context, p *signin.Person) (name string, err error) {
	if p.Issuer == "" || p.Subject == "" {
		return "", refused("the provider does not say which account this is", "")
	}
	if err := check(p.Name); err != nil {
		return "", err
	}
	next := Record{Name: p.Name, Account: hash(p.Issuer, p.Subject), Issuer: p.Issuer}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.catchUp(ctx); err != nil {
		return "", err
	}
	if name, bind, err := b.answer(&next, p.Was); !bind {
		return name, err
	}
	c := b.ledger.Core()
	err = c.AppendOwn(ctx, Thread, func(tx *core.Tx) error {
		if err := b.catchUp(ctx); err != nil {
			return err
		}
		var bind bool
		name, bind, err = b.answer(&next, p.Was)
		if err != nil || !bind {
			return errors.Join(err, errSettled)
		}
		return add(tx, c.NewID(), Bound, "", &next)
	})
	switch {
	case errors.Is(err, errSettled): // by another server, in the meantime
		_, _, err = b.answer(&next, p.Was)
		return name, err
	case err != nil:
		return "", err
	}
	return next.Name, b.catchUp(ctx)
}

// errSettled ends an append that is not needed any more.
var errSettled = errors.New("settled")

// answer returns the name of an account, or that it is to be bound to the one that it comes with.
func (b *Book) answer(r *Record, was string) (name string, bind bool, err error) {
	owner, taken := b.owners[text.FoldPerson(r.Name)]
	replaces := taken && was != "" && owner.Issuer == was && was != r.Issuer
	if have, ok := b.names[r.Account]; ok {
		if taken && owner.Account != r.Account { // its provider gives it somebody else's name
			return "", false, notYours(r.Name)
		}
		return have, false, nil
	}
	switch {
	case replaces:
		r.Was = was
	case taken:
		return "", false, notYours(r.Name)
	}
	return r.Name, true, nil
}

// Came notes the role of somebody who logged in, if it is another one than before.
func (b *Book) Came(ctx context.Context, name string, role tokens.Role) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.roles[text.FoldPerson(name)] == role {
		return nil
	}
	return b.append(ctx, Role, "", &Record{Name: name, Role: role})
}

// End puts on record that the logins of a person with accounts end now, here and at the other servers of
// the store, with the links that they made.
func (b *Book) End(ctx context.Context, name, by string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.append(ctx, Ended, by, &Record{Name: name})
}

func (b *Book) append(ctx context.Context, kind, by string, r *Record) error {
	c := b.ledger.Core()
	if err := c.AppendOwn(ctx, Thread, func(tx *core.Tx) error { return add(tx, c.NewID(), kind, by, r) }); err != nil {
		return err
	}
	return b.catchUp(ctx)
}

// HasEnded reports whether a login with an account, or what was made in it, is over: an operator ended
// the person's logins after it began, or their newest login has a role that may do less.
func (b *Book) HasEnded(ctx context.Context, t tokens.Token) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.ledger.Now(); now.Sub(b.looked) >= lookTime || now.Before(b.looked) {
		if b.catchUp(ctx) != nil {
			return true // fail closed: nobody knows
		}
	}
	folded := text.FoldPerson(t.Name)
	if at, ok := b.ends[folded]; ok && !at.Before(t.CreatedAt.Truncate(time.Millisecond)) {
		return true
	}
	role, ok := b.roles[folded]
	return ok && !role.May(t.Role)
}

// Unbind ends the binding of a name, so that the next account that comes with it gets it. By is the
// operator who does it. [posthouse.ErrNotFound] for a name that is not bound.
func (b *Book) Unbind(ctx context.Context, name, by string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.ledger.Core()
	err := c.AppendOwn(ctx, Thread, func(tx *core.Tx) error {
		if err := b.catchUp(ctx); err != nil {
			return err
		}
		owner, ok := b.owners[text.FoldPerson(name)]
		if !ok {
			e := posthouse.NotFound("account of", name)
			e.Hint = "the name is bound to none: the next account that comes with it gets it"
			return e
		}
		return add(tx, c.NewID(), Unbound, by, &Record{Name: owner.Name, Account: owner.Account, Issuer: owner.Issuer})
	})
	if err != nil {
		return err
	}
	return b.catchUp(ctx)
}

func add(tx *core.Tx, id posthouse.ID, kind, by string, r *Record) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	tx.Add(posthouse.Record{Kind: posthouse.RecordSignal, Signal: &posthouse.SignalInfo{ID: id, Name: kind, By: by}}, body)
	tx.IDs = append(tx.IDs, posthouse.IndexedID{ID: id})
	tx.Sign = true
	return nil
}

// catchUp reads what came since. Callers hold b.mu.
func (b *Book) catchUp(ctx context.Context) error {
	now := b.ledger.Now()
	for e, err := range b.ledger.Log(ctx, Thread, posthouse.Range{From: b.read + 1}) {
		if errors.Is(err, posthouse.ErrNotFound) {
			break // nobody has logged in yet
		}
		if err != nil {
			return err
		}
		for i := range e.Events {
			if s := e.Events[i].Signal; s != nil {
				b.note(s, e.At)
			}
		}
		b.read = e.Seq
	}
	b.looked = now
	return nil
}

// note applies a record. One that came too late, by a server that did not see another's, counts for
// nothing.
func (b *Book) note(s *posthouse.Signal, at time.Time) {
	var r Record
	if json.Unmarshal(s.Value, &r) != nil || r.Name == "" {
		return
	}
	folded := text.FoldPerson(r.Name)
	owner, taken := b.owners[folded]
	switch {
	case s.Name == Ended:
		b.ends[folded] = at
	case s.Name == Role:
		b.roles[folded] = r.Role
	case s.Name == Unbound && taken && owner.Account == r.Account:
		delete(b.owners, folded)
		delete(b.names, r.Account)
	case s.Name == Bound && b.names[r.Account] == "" && (!taken || r.Was != "" && owner.Issuer == r.Was):
		if taken {
			delete(b.names, owner.Account)
		}
		b.owners[folded], b.names[r.Account] = r, r.Name
	}
}

// check refuses names that are no person's.
func check(name string) error {
	if err := posthouse.CheckDecider("name", name); err != nil {
		return err
	}
	folded := text.FoldPerson(name)
	for _, prefix := range []string{"$", "endpoint:", "slack:", "mail:", "webhook:", "program:"} {
		if strings.HasPrefix(folded, prefix) {
			return refused("a person cannot have the name "+name+": it looks like one of this server's own", "")
		}
	}
	return nil
}

func notYours(name string) error {
	return refused("the name "+name+" belongs to another account. If both are the same person's, or the other one is gone, an operator frees the name with: posthouse people rebind "+name,
		"posthouse people rebind "+name)
}

func refused(message, hint string) error {
	return &posthouse.Error{Code: posthouse.CodeForbidden, Message: message, Hint: hint}
}
