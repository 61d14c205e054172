package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/signin"
)

const (
	// askTime is how long the provider may take to answer.
	askTime = 10 * time.Second

	// keyVersion ends logins of before, when what a login is bound to has changed.
	keyVersion = 2

	// skew is how far the clocks of provider and server may be apart, and maxAge how long before the
	// answer an ID token may have been made.
	skew   = time.Minute
	maxAge = 24 * time.Hour

	// maxSubject bounds the name of an account at its provider, as its standard does.
	maxSubject = 255

	// defaultLifetime is how long a login lasts.
	defaultLifetime = 12 * time.Hour
)

// A provider is an issuer of OpenID Connect.
type provider struct {
	o      signin.Options
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	found  *oidc.Provider // nil: it was not reached yet
	failed error          // why not, the last time
	asking chan struct{}  // closed when the attempt that runs has ended; nil: no attempt runs
}

// Open returns the provider of the options; it is a [signin.Opener]. It asks nobody.
// [posthouse.ErrInvalid] names the option at fault.
func Open(o *signin.Options) (signin.Provider, error) {
	p := &provider{o: *o, client: &http.Client{Timeout: askTime, CheckRedirect: noRedirect}, now: time.Now}
	p.o.NameClaim, p.o.GroupsClaim = cmp.Or(o.NameClaim, "email"), cmp.Or(o.GroupsClaim, "groups")
	p.o.Lifetime = cmp.Or(o.Lifetime, defaultLifetime)
	for _, u := range []struct{ field, value string }{{"Issuer", o.Issuer}, {"URL", o.URL}} {
		if err := checkURL(u.field, u.value); err != nil {
			return nil, err
		}
	}
	switch {
	case o.ClientID == "":
		return nil, posthouse.Invalid("ClientID", "is required")
	case o.Lifetime < 0:
		return nil, posthouse.Invalid("Lifetime", "is negative")
	case len(o.Roles) == 0:
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "Roles", Message: "are required: without one nobody may log in", Hint: "as in viewer=*"}
	}
	return p, nil
}

// checkURL refuses what browsers or keys would be read from over an open connection.
func checkURL(field, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "is not the address of a server", Hint: "as in https://accounts.example.com"}
	}
	local := u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost" || u.Hostname() == "::1"
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return posthouse.Invalid(field, "is not https")
	}
	return nil
}

// noRedirect keeps the client at the provider's own endpoints.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Name implements [signin.Provider].
func (p *provider) Name() string { return p.o.Issuer }

// Key implements [signin.Provider].
func (p *provider) Key() string {
	data, _ := json.Marshal([]any{keyVersion, p.o.ClientID, p.o.NameClaim, p.o.GroupsClaim, p.o.Roles}) // of text only
	sum := sha256.Sum256(data)
	return p.o.Issuer + " " + hex.EncodeToString(sum[:8])
}

// discover returns the provider's endpoints and keys, which it asks for once. Those who come while
// it asks share the attempt.
func (p *provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	if p.found != nil {
		defer p.mu.Unlock()
		return p.found, nil
	}
	if p.asking == nil {
		p.asking = make(chan struct{})
		go p.ask(p.asking)
	}
	over := p.asking
	p.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-over:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		return nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "the provider " + p.o.Issuer + " cannot be asked", Err: p.failed}
	}
	return p.found, nil
}

func (p *provider) ask(over chan struct{}) {
	// Keys are fetched with this context for as long as the process lives: no request's.
	found, err := oidc.NewProvider(oidc.ClientContext(context.Background(), p.client), p.o.Issuer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.found = found
	}
	p.failed, p.asking = err, nil
	close(over)
}

func (p *provider) config(at *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: at.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
		RedirectURL: strings.TrimRight(p.o.URL, "/") + signin.CallbackPath,
	}
}

// A login is what a browser keeps of one that has begun.
type login struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Begin implements [signin.Provider].
func (p *provider) Begin(ctx context.Context) (location, kept string, err error) {
	at, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	l := login{rand.Text(), rand.Text(), oauth2.GenerateVerifier()}
	data, err := json.Marshal(l)
	return p.config(at).AuthCodeURL(l.State, oidc.Nonce(l.Nonce), oauth2.S256ChallengeOption(l.Verifier)), string(data), err
}

// Finish implements [signin.Provider].
func (p *provider) Finish(ctx context.Context, query url.Values, kept string) (*signin.Person, error) {
	var l login
	if err := json.Unmarshal([]byte(kept), &l); err != nil || l.State == "" || l.Nonce == "" || l.Verifier == "" {
		return nil, refused("this browser has not begun to log in")
	}
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(l.State)) != 1 {
		return nil, refused("this is the answer to another login")
	}
	if query.Get("code") == "" {
		return nil, refused("the provider did not let you in")
	}
	at, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), askTime)
	defer cancel()
	tok, err := p.config(at).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(l.Verifier))
	if err != nil {
		return nil, err
	}
	raw, _ := tok.Extra("id_token").(string)
	id, err := at.Verifier(&oidc.Config{ClientID: p.o.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(l.Nonce)) != 1 {
		return nil, refused("this is the answer to another login")
	}
	claims := map[string]json.RawMessage{}
	if err := id.Claims(&claims); err != nil {
		return nil, err
	}
	if err := p.checkClaims(claims); err != nil {
		return nil, err
	}
	return p.person(claims)
}

// checkClaims refuses what the library takes: a token for another client, times that are no numbers
// or lie ahead, and one that names no account.
func (p *provider) checkClaims(claims map[string]json.RawMessage) error {
	for _, name := range []string{"exp", "iat", "nbf", "auth_time"} {
		claim := claims[name]
		if len(claim) == 0 && (name == "nbf" || name == "auth_time") {
			continue
		}
		var seconds float64
		if err := json.Unmarshal(claim, &seconds); err != nil || string(claim) == "null" {
			return refused("the provider sends the time " + name + " as no number")
		}
		if name != "exp" && seconds > float64(p.now().Add(skew).Unix()) {
			return refused("the provider sends the time " + name + " of a moment that has not come: one of the clocks is wrong")
		}
		if name == "iat" && seconds < float64(p.now().Add(-maxAge).Unix()) {
			return refused("the provider sends a token that was made long ago")
		}
	}
	var several []string
	var azp string
	if err := json.Unmarshal(claims["azp"], &azp); len(claims["azp"]) > 0 && (err != nil || azp != p.o.ClientID) {
		return refused("the provider sends a token that was made for another client")
	}
	if json.Unmarshal(claims["aud"], &several) == nil && len(several) > 1 && azp == "" {
		return refused("the provider sends a token for several clients, and does not say for which it was made")
	}
	return nil
}

// person returns who the claims are of.
func (p *provider) person(claims map[string]json.RawMessage) (*signin.Person, error) {
	var name, subject string
	if err := json.Unmarshal(claims["sub"], &subject); err != nil || subject == "" || len(subject) > maxSubject {
		return nil, refused("the provider does not say which account this is: it sends no sub")
	}
	if err := json.Unmarshal(claims[p.o.NameClaim], &name); err != nil || name == "" {
		return nil, refused("the provider does not say who you are: it sends no " + p.o.NameClaim)
	}
	if p.o.NameClaim == "email" && !isTrue(claims["email_verified"]) {
		return nil, refused("the provider has not verified the address " + name)
	}
	var groups []string
	if list := claims[p.o.GroupsClaim]; len(list) > 0 && json.Unmarshal(list, &groups) != nil {
		return nil, refused("the provider sends " + p.o.GroupsClaim + " that are no list of names")
	}
	role, ok := p.o.Roles.Of(name, groups)
	if !ok {
		return nil, refused(name + " has no role here")
	}
	return &signin.Person{Issuer: p.o.Issuer, Subject: subject, Was: p.o.Was, Name: name, Role: role, Expires: p.now().Add(p.o.Lifetime)}, nil
}

// isTrue reads a claim that some providers send as text.
func isTrue(claim json.RawMessage) bool { return string(claim) == "true" || string(claim) == `"true"` }

func refused(message string) error {
	return &posthouse.Error{Code: posthouse.CodeForbidden, Message: message}
}
