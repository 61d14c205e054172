package auth

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

// noteUse notes that a token was used, and has it written in the background. Once the server
// is closed it does not: Close writes them once more.
func (a *Authenticator) noteUse(x tokens.Token) {
	if x.SignedIn == "" && a.tokens.Used(x) {
		a.life.Go(a.SaveUsed)
	}
}

// SaveUsed writes when tokens were last used.
func (a *Authenticator) SaveUsed() {
	if err := a.tokens.SaveUsed(); err != nil {
		a.log.Warn("when tokens were last used cannot be written", "error", err)
	}
}

// Current reports whether a token is still good, or why that cannot be said. It does not note
// its use.
func (a *Authenticator) Current(x tokens.Token) (bool, error) {
	if x.Login != (posthouse.Hash{}) && !a.logins.Holds(x.Login) {
		return false, nil // it logged out, or an operator ended the login
	}
	if x.SignedIn != "" {
		return x.SignedIn == a.SignedIn && !a.Expired(x) && !a.ended(x), nil
	}
	return a.tokens.Current(x)
}

// CurrentMaker reports whether what somebody made in a login or with a token is still good, or why that
// cannot be said. It does not end with a logout, nor with the time of a login: it ends when an operator
// ended the person's logins, when their role was lost, or with the provider or token.
func (a *Authenticator) CurrentMaker(x tokens.Token) (bool, error) {
	if x.SignedIn != "" {
		return x.SignedIn == a.SignedIn && !a.ended(x), nil
	}
	return a.tokens.Current(x)
}

// ended reports whether an operator ended the logins of a person after a login by a provider began,
// or a later one has a weaker role.
func (a *Authenticator) ended(x tokens.Token) bool { return a.Ended != nil && a.Ended(x) }

// CheckUse returns why the token of a message is not good any more, and notes its use if it
// is.
func (a *Authenticator) CheckUse(x tokens.Token) error {
	switch ok, err := a.Current(x); {
	case err != nil:
		return a.Unavailable(err)
	case !ok:
		return a.Unauthenticated(x)
	}
	a.noteUse(x)
	return nil
}

// Valid reports whether the token of an open stream is still good, and notes its use.
func (a *Authenticator) Valid(x tokens.Token) bool {
	ok, err := a.Current(x)
	ok = ok && err == nil
	if ok {
		a.noteUse(x)
	}
	return ok
}
