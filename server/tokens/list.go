package tokens

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// The files that hold tokens, below a data directory.
const (
	File      = "tokens.json" // names, roles and hashes
	FirstFile = "token"       // the secret made at the first start, for the machine's owner
)

// prefix lets people and scanners tell a token when they see one.
const prefix = "ph_"

// A Token is what is on record of an access token. The secret is shown once and never
// kept.
type Token struct {
	Name      string         `json:"name"` // who it speaks for: the actor of what is done with it
	Role      Role           `json:"role"`
	Hash      posthouse.Hash `json:"hash"` // SHA-256 of the secret
	CreatedAt time.Time      `json:"createdAt"`
	ExpiresAt time.Time      `json:"expiresAt,omitzero"` // it is refused from then on; zero: never

	// Groups and Tasks say what a worker may take; see [Token.Pass].
	Groups []string `json:"groups,omitempty"`
	Tasks  []string `json:"tasks,omitempty"`

	// SignedIn is the key of the provider that knows the person, for a login without a token; "" for
	// a token.
	SignedIn string `json:"signedIn,omitempty"`

	// Maker is who made it over the API, Confirmed who said that it is another person's. Of a token
	// made in the data directory only the second is set.
	Maker     Maker        `json:"maker,omitzero"`
	Confirmed Confirmation `json:"confirmed,omitzero"`

	// Login names the login of a browser that this is of: what is open ends with it. Zero: it came
	// itself. It is kept nowhere.
	Login posthouse.Hash `json:"-"`

	// LastUsedAt is when the token was last used, to the minute, at any server of
	// the directory. Zero: never, or not known. Only All sets it.
	LastUsedAt time.Time `json:"-"`
}

// Expired reports whether a token is past its time.
func (t *Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// A List is the access tokens of one data directory. It notices when
// another process changes the file, so a token made beside a running server
// works at once. Safe for concurrent use.
type List struct {
	dir string
	now func() time.Time

	mu     sync.Mutex
	loaded os.FileInfo // of the file as it was read; nil: there was no file
	tokens []Token
	gone   []Gone
	made   graph // of those not confirmed; nil: not yet made

	reads atomic.Uint64 // how often the file was read
	usage usage         // has its own lock
}

// Options configure [Open].
type Options struct {
	Now func() time.Time // default time.Now
}

// Open reads the tokens below dir, which must exist. A missing file is an empty list.
// Errors: [posthouse.ErrInvalid] for a damaged file, [posthouse.ErrNewer] for one of a
// later version, [posthouse.ErrForbidden] for one that other users may read or write.
func Open(dir string, o *Options) (*List, error) {
	t := &List{dir: dir, now: time.Now, usage: usage{seen: map[posthouse.Hash]time.Time{}}}
	if o != nil && o.Now != nil {
		t.now = o.Now
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t, t.refresh()
}

// Dir returns the directory of the tokens.
func (t *List) Dir() string { return t.dir }

// Reads returns how often the file was read, which it is after each change.
func (t *List) Reads() uint64 { return t.reads.Load() }

// CreateOptions refine [List.Create]. Nil is the zero value.
type CreateOptions struct {
	ExpiresAt time.Time // when the token stops being good, to the second; zero: never

	Groups []string // of a worker: the groups that it may take tasks of, beside those of no group; "*" is all. At most 1,000
	Tasks  []string // of a worker: the names that it may take; empty is all. At most 1,000

	Maker Maker // who makes it over the API; zero: it is made in the data directory, and confirmed
}

// Create makes a token and returns its secret, which cannot be shown again. It
// takes the place of a token of that name that has expired.
// Names are 1 to 200 bytes of [A-Za-z0-9._:$@+-]: [posthouse.ErrInvalid] for any
// other, for an unknown role, and for an expiry that is not in the future; a name
// that is taken is [posthouse.ErrExists].
func (t *List) Create(name string, role Role, o *CreateOptions) (secret string, err error) {
	if err := validName(name); err != nil {
		return "", err
	}
	if err := posthouse.CheckDecider("name", name); err != nil {
		return "", err
	}
	if !role.Valid() {
		return "", posthouse.Invalid("role", "%.40q is not one of viewer, approver, operator, worker", string(role))
	}
	now := t.now()
	var expires time.Time
	if o != nil && !o.ExpiresAt.IsZero() {
		expires = o.ExpiresAt.UTC().Truncate(time.Second)
		if !now.Before(expires) || expires.Year() > maxYear {
			return "", posthouse.Invalid("expires", "is %s, which is not in the future, or beyond the year %d", expires.Format(time.RFC3339), maxYear)
		}
	}
	var groups, tasks []string
	if o != nil {
		groups, tasks = o.Groups, o.Tasks
		if len(groups)+len(tasks) > 0 && role != Worker {
			return "", limitsOf(role)
		}
	}
	if err := cmp.Or(checkNames("group", groups), checkNames("task", tasks)); err != nil {
		return "", err
	}
	secret = NewSecret()
	return secret, t.change(func(f *document) error {
		if i := slices.IndexFunc(f.Tokens, func(x Token) bool { return x.Name == name }); i >= 0 {
			if !f.Tokens[i].Expired(now) {
				return &posthouse.Error{
					Code: posthouse.CodeExists, Field: "name", Message: "is taken by another token",
					Hint: "revoke that one first, or choose another name",
				}
			}
			f.remove(i)
		}
		made := t.token(name, role, secret)
		made.ExpiresAt, made.Groups, made.Tasks = expires, groups, tasks
		if o != nil && !o.Maker.IsZero() {
			if len(f.Gone) >= maxGone {
				return &posthouse.Error{
					Code: posthouse.CodeTooLarge, Field: "name", Message: "cannot be made over the API: too many revoked tokens were never confirmed",
					Hint: "confirm them where the server's data directory is (posthouse token confirm --revoked), or make it there",
				}
			}
			made.Maker, made.Confirmed = o.Maker, Confirmation{}
		}
		f.Tokens = append(f.Tokens, made)
		return nil
	})
}

// maxYear is the last that RFC 3339 can write.
const maxYear = 9999

// RevokeOptions refine [List.Revoke]. Nil is the zero value.
type RevokeOptions struct {
	LastOperator bool // revoke it even if no other operator's token is good
	DryRun       bool // change nothing, and fail as a revocation would
}

// Revoke removes a token, also from servers that are running and from their sessions.
// Errors: [posthouse.ErrNotFound]; [posthouse.ErrConflict] for the last good token of
// an operator, unless the options allow it. After the last one is removed, no client
// may run agents or act for others until another is made in the directory.
func (t *List) Revoke(name string, o *RevokeOptions) error {
	if o == nil {
		o = &RevokeOptions{}
	}
	if o.DryRun {
		t.mu.Lock()
		defer t.mu.Unlock()
		if err := t.refresh(); err != nil {
			return err
		}
		return t.without(t.copy(), name, o)
	}
	return t.change(func(f *document) error { return t.without(f, name, o) })
}

// without takes a token away.
func (t *List) without(f *document, name string, o *RevokeOptions) error {
	i := slices.IndexFunc(f.Tokens, func(x Token) bool { return x.Name == name })
	if i < 0 {
		return notFound()
	}
	now := t.now()
	operates := func(x Token) bool { return x.Role == Operator && !x.Expired(now) }
	gone := f.Tokens[i]
	f.remove(i)
	if operates(gone) && !slices.ContainsFunc(f.Tokens, operates) && !o.LastOperator {
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Message: name + " has the last token of an operator that is good",
			Hint: "make another first (posthouse token create --name NAME --role operator), or revoke it all the same with --yes",
		}
	}
	return nil
}

// remove takes a token away, and keeps its name if it counts as its maker's.
func (f *document) remove(i int) {
	f.Gone = keepGone(f.Gone, &f.Tokens[i])
	f.Tokens = slices.Delete(f.Tokens, i, i+1)
}

func notFound() error {
	return &posthouse.Error{Code: posthouse.CodeNotFound, Message: "there is no token of that name", Hint: "posthouse token list shows them"}
}

// copy returns what the file has, to be changed. Callers hold the lock.
func (t *List) copy() *document {
	return &document{Tokens: slices.Clone(t.tokens), Gone: slices.Clone(t.gone)}
}

// All returns the tokens by name, with those that have expired.
func (t *List) All() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return nil, err
	}
	ts := slices.Clone(t.tokens)
	used := t.lastUsed()
	for i := range ts {
		ts[i].LastUsedAt = used[ts[i].Hash]
	}
	slices.SortFunc(ts, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	return ts, nil
}

// First makes the token operator, of that role, if the list is empty. Its secret
// is in the file [FirstFile], mode 0600. First returns the file's path and
// whether it made the token.
func (t *List) First() (path string, created bool, err error) {
	path = filepath.Join(t.dir, FirstFile)
	if ts, err := t.All(); err != nil || len(ts) > 0 {
		return path, false, err
	}
	secret := NewSecret()
	err = t.change(func(f *document) error {
		if len(f.Tokens) > 0 {
			return errUnchanged
		}
		// The secret goes first: a crash in between leaves a token that is not
		// accepted, and the next start makes another.
		if err := writeFile(path, []byte(secret+"\n")); err != nil {
			return err
		}
		f.Tokens = []Token{t.token("operator", Operator, secret)}
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return path, false, nil
	}
	return path, err == nil, err
}

// errUnchanged leaves the file as it is.
var errUnchanged = errors.New("unchanged")

// Authenticate returns the token of a secret. ok is false for a wrong secret, and for a
// token that has expired, which is returned all the same. After an error no client can be
// authenticated until the file is mended.
func (t *List) Authenticate(secret string) (tok Token, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return Token{}, false, err
	}
	sum := sha256.Sum256([]byte(secret))
	for _, x := range t.tokens { // all of them, so that the time it takes reveals nothing
		if subtle.ConstantTimeCompare(sum[:], x.Hash[:]) == 1 {
			tok, ok = x, true
		}
	}
	return tok, ok && !tok.Expired(t.now()), nil
}

// Find returns a token that is good and that want selects.
func (t *List) Find(want func(*Token) bool) (tok Token, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return Token{}, false, err
	}
	now := t.now()
	for i := range t.tokens {
		if x := &t.tokens[i]; !x.Expired(now) && want(x) {
			return *x, true, nil
		}
	}
	return Token{}, false, nil
}

// Expired reports whether a token is past its time by the clock of the list.
func (t *List) Expired(x Token) bool { return x.Expired(t.now()) }

// Current reports whether the token is still good, for a session that was
// opened with it.
func (t *List) Current(x Token) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return false, err
	}
	now := t.now()
	return slices.ContainsFunc(t.tokens, func(y Token) bool {
		return y.Hash == x.Hash && y.Name == x.Name && y.Role == x.Role && !y.Expired(now)
	}), nil
}

// token returns a token as it is made in the data directory.
func (t *List) token(name string, role Role, secret string) Token {
	now := t.now().UTC().Truncate(time.Second)
	return Token{Name: name, Role: role, Hash: sha256.Sum256([]byte(secret)), CreatedAt: now, Confirmed: Confirmation{At: now}}
}

// refresh reads the file if it is another than the one read last. Callers hold
// the lock. After an error nothing authenticates until the file is mended.
func (t *List) refresh() error {
	path := filepath.Join(t.dir, File)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.loaded, t.tokens, t.gone, t.made = nil, nil, nil, nil
		return nil
	case err != nil:
		return fileError(path, "cannot be read", err)
	case t.loaded != nil && os.SameFile(info, t.loaded) && info.ModTime().Equal(t.loaded.ModTime()) && info.Size() == t.loaded.Size():
		return nil
	}
	f, err := read(path)
	if err != nil {
		t.loaded, t.tokens, t.gone, t.made = nil, nil, nil, nil
		return err
	}
	t.loaded, t.tokens, t.gone, t.made = info, f.Tokens, f.Gone, nil
	t.reads.Add(1)
	return nil
}

// NewSecret returns 256 random bits in a form that survives copying.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

func validName(name string) error {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:$@+-"
	if name == "" || len(name) > posthouse.MaxID || strings.Trim(name, allowed) != "" {
		return posthouse.Invalid("name", "%.40q must be 1 to %d letters, digits and . _ : $ @ + -", name, posthouse.MaxID)
	}
	return nil
}
