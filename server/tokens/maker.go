package tokens

import (
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// A Maker is who made a token over the API. It is known by the secret of its own token: a later token
// of the same name is another maker.
type Maker struct {
	Name string         `json:"name"`
	Hash posthouse.Hash `json:"hash,omitzero"` // SHA-256 of the secret; zero for an account elsewhere
}

// IsZero reports whether no maker is on record: the token was made in the data directory, or by an
// earlier version.
func (m Maker) IsZero() bool { return m == Maker{} }

// MakerOf returns the maker that the client of a request is.
func MakerOf(t *Token) Maker { return Maker{Name: t.Name, Hash: t.Hash} }

// A Confirmation says that a token's name is another person's than its maker's.
type Confirmation struct {
	By string    `json:"by,omitempty"` // the operator; "" for who holds the data directory
	At time.Time `json:"at"`
}

// IsZero reports whether it was not given.
func (c Confirmation) IsZero() bool { return c.At.IsZero() }

// IsConfirmed reports whether a token speaks for nobody but its name. Tokens made in the data directory
// are confirmed, and those that earlier versions made.
func (t *Token) IsConfirmed() bool { return t.Maker.IsZero() || !t.Confirmed.IsZero() }

// Unrecorded reports whether an earlier version made the token, which kept no makers.
func (t *Token) Unrecorded() bool { return t.Maker.IsZero() && t.Confirmed.IsZero() }

// A Gone is a name under which somebody may have taken part with a token that is no more. It still
// counts as its maker's.
type Gone struct {
	Name  string `json:"name"`
	Maker Maker  `json:"maker"`
}

// maxGone bounds the names and makers of tokens that are no more.
const maxGone = 5000

// keepGone returns the list with a token that goes, if it was not confirmed.
func keepGone(gone []Gone, t *Token) []Gone {
	g := Gone{t.Name, t.Maker}
	if t.IsConfirmed() || slices.Contains(gone, g) {
		return gone
	}
	return append(slices.Clip(gone), g)
}

// ConfirmOptions refine [List.Confirm]. Nil is the zero value.
type ConfirmOptions struct {
	By      *Token // the operator who confirms over the API; nil: who holds the data directory
	Revoked bool   // all names of tokens that are gone, with an empty name
	DryRun  bool   // change nothing, and fail as a confirmation would
}

// Confirm says that a token is another person's than its maker's: from then on the two names are two
// people at every gate. Names of revoked tokens can be confirmed too. A second call changes nothing.
//
// Errors: [posthouse.ErrNotFound]; [posthouse.ErrForbidden] for an operator with a token that is not
// confirmed, who made the token, or has a token of the same maker.
func (t *List) Confirm(name string, o *ConfirmOptions) error {
	if o == nil {
		o = &ConfirmOptions{}
	}
	err := t.change(func(f *document) error {
		err := f.confirm(name, o, t.now().UTC().Truncate(time.Second))
		if err == nil && o.DryRun {
			err = errUnchanged
		}
		return err
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

func (f *document) confirm(name string, o *ConfirmOptions, now time.Time) error {
	if o.Revoked {
		if name != "" || o.By != nil {
			return posthouse.Invalid("revoked", "is for all names, in the data directory")
		}
		f.Gone = nil
		return nil
	}
	i := slices.IndexFunc(f.Tokens, func(x Token) bool { return x.Name == name })
	if i >= 0 {
		if err := mayConfirm(f, name, f.Tokens[i].Maker, o.By); err != nil {
			return err
		}
	}
	found := i >= 0
	for _, g := range f.Gone {
		if g.Name != name {
			continue
		}
		found = true
		if err := mayConfirm(f, name, g.Maker, o.By); err != nil {
			return err
		}
	}
	if !found {
		return notFound()
	}
	f.Gone = slices.DeleteFunc(f.Gone, func(g Gone) bool { return g.Name == name })
	if i >= 0 && f.Tokens[i].Confirmed.IsZero() {
		f.Tokens[i].Confirmed.At = now
		if o.By != nil {
			f.Tokens[i].Confirmed.By = o.By.Name
		}
	}
	return nil
}

// mayConfirm returns why an operator may not confirm a token, or nil.
func mayConfirm(f *document, name string, maker Maker, by *Token) error {
	if by == nil {
		return nil
	}
	forbidden := func(why string) error {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: why,
			Hint: "confirm it where the server's data directory is (posthouse token confirm " + name + "), or have another operator do it",
		}
	}
	self := MakerOf(by)
	switch {
	case by.SignedIn == "" && !slices.ContainsFunc(f.Tokens, func(x Token) bool { return x.Hash == by.Hash && x.IsConfirmed() }):
		return forbidden("the token of " + by.Name + " is itself not confirmed")
	case by.Name == name:
		return forbidden(by.Name + " cannot confirm themselves")
	}
	behind := append(f.makers(maker), maker)
	switch {
	case slices.Contains(behind, self), slices.ContainsFunc(behind, func(m Maker) bool { return m.Name == by.Name }):
		return forbidden(by.Name + " made this token, or one that made it, and cannot confirm it")
	case slices.ContainsFunc(f.makers(self), func(m Maker) bool { return slices.Contains(behind, m) }):
		return forbidden("the token of " + by.Name + " was made by the maker of this one, and cannot confirm it")
	}
	return nil
}

// makers returns who made a maker's own token, and so on.
func (f *document) makers(of Maker) (all []Maker) {
	for !of.Hash.IsZero() {
		i := slices.IndexFunc(f.Tokens, func(x Token) bool { return x.Hash == of.Hash })
		if i < 0 {
			for _, g := range f.Gone { // the secret of a token that is gone is not kept, its name is
				if g.Name == of.Name && !slices.Contains(all, g.Maker) {
					all = append(all, g.Maker)
				}
			}
			return all
		}
		of = f.Tokens[i].Maker
		if of.IsZero() || slices.Contains(all, of) {
			return all
		}
		all = append(all, of)
	}
	return all
}

// Unconfirmed returns the names that count as their makers', with the makers': of tokens that are
// good, have expired or were revoked.
func (t *List) Unconfirmed() ([]Gone, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return nil, err
	}
	return t.unconfirmed(), nil
}

func (t *List) unconfirmed() []Gone {
	all := slices.Clone(t.gone)
	for i := range t.tokens {
		all = keepGone(all, &t.tokens[i])
	}
	return all
}

// OnePerson implements [posthouse.People]. Two names are one person's if one is a token that the other
// made, if one maker made both, and so on, as far as the tokens are not confirmed. While the file
// cannot be read any two names are: nothing is known of them.
func (t *List) OnePerson(a, b string) (confirm string, one bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refresh() != nil {
		return "", true
	}
	if t.made == nil {
		t.made = makeGraph(t.unconfirmed())
	}
	return t.made.path(a, b)
}

// A graph has, for each name, the names that are one step from it: its makers, and what it made.
type graph map[string][]link

type link struct {
	to   string
	made string // of the two, the token that is not confirmed
}

func makeGraph(unconfirmed []Gone) graph {
	g := graph{}
	for _, u := range unconfirmed {
		own, maker := g.named(u.Name), g.named(u.Maker.Name)
		g[own] = append(g[own], link{maker, u.Name})
		g[maker] = append(g[maker], link{own, u.Name})
	}
	return g
}

// named returns the name that the graph has for a person's, in whatever spelling.
func (g graph) named(name string) string {
	if len(g[name]) > 0 {
		return name
	}
	for known := range g {
		if posthouse.SameName(known, name) {
			return known
		}
	}
	return name
}

// path finds a way between two names. Confirming one of the tokens on it parts them: a's own, else b's,
// else the first.
func (g graph) path(a, b string) (confirm string, one bool) {
	a, b = g.named(a), g.named(b)
	if len(g[a]) == 0 || len(g[b]) == 0 || a == b {
		return "", a == b
	}
	from := map[string]link{a: {}}
	for queue := []string{a}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == b {
			var made []string
			for n := b; n != a; n = from[n].to {
				made = append(made, from[n].made)
			}
			switch {
			case slices.Contains(made, a):
				return a, true
			case slices.Contains(made, b):
				return b, true
			}
			return made[0], true
		}
		for _, l := range g[at] {
			if _, seen := from[l.to]; !seen {
				from[l.to] = link{at, l.made}
				queue = append(queue, l.to)
			}
		}
	}
	return "", false
}
