package signin

import (
	"context"
	"net/url"
	"time"

	"github.com/posthouse/posthouse/server/tokens"
)

// CallbackPath is where a provider sends the browser back to.
const CallbackPath = "/login/callback"

// A Provider knows people by their accounts elsewhere. It must be safe for concurrent use.
type Provider interface {
	// Name names the provider on the login page: its issuer.
	Name() string

	// Key changes with what the provider was configured with, as with the roles of people. Logins
	// end when it changes.
	Key() string

	// Begin returns where to send the browser, and what [Provider.Finish] needs to know of this
	// login. The browser keeps that for ten minutes, where no page reads it.
	Begin(ctx context.Context) (location, kept string, err error)

	// Finish returns who came back, by the query of the callback and what was kept.
	// [posthouse.ErrForbidden] is a person who may not log in, and everything else that the
	// provider answers.
	Finish(ctx context.Context, query url.Values, kept string) (*Person, error)
}

// A Person is somebody who logged in.
type Person struct {
	// Issuer and Subject name the account, for ever: the provider, and the account there. The first login
	// of an account binds it to Name; from then on it has that name here, and no other account gets it.
	// Without them a login is refused.
	Issuer, Subject string

	// Was is the issuer that Issuer replaced: names that are bound to its accounts pass to those of Issuer
	// that come with them. Default: no other account gets them.
	Was string

	Name    string // the actor on record of what they do; names are those of access tokens
	Role    tokens.Role
	Expires time.Time // when the login ends; the server may end it sooner
}

// Options say by which provider people log in, and who they may be.
type Options struct {
	Issuer       string        // URL, as in https://accounts.example.com
	ClientID     string        // of this server at the provider
	ClientSecret string        // "" for a public client
	URL          string        // of this server, as people's browsers have it; the callback is below it
	NameClaim    string        // that names a person; default email, which then must be verified
	GroupsClaim  string        // that lists groups; default groups
	Roles        Roles         // who has which role; somebody without one is refused
	Lifetime     time.Duration // of a login; default 12 hours
	Was          string        // the issuer that Issuer replaced: names that are bound to its accounts pass on
}

// An Opener opens a provider. It asks nobody: a server starts while its provider is away.
type Opener func(o *Options) (Provider, error)
