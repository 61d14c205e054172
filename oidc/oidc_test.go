package oidc

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/server/tokens"
)

func options(issuer string) *signin.Options {
	return &signin.Options{
		Issuer: issuer, ClientID: "posthouse", ClientSecret: "secret", URL: "https://posthouse.example.com/",
		Roles: signin.Roles{{Role: tokens.Viewer, Group: "finance"}, {Role: tokens.Operator, Name: "ann@example.com"}},
	}
}

func open(t *testing.T, o *signin.Options) signin.Provider {
	t.Helper()
	p, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// logIn goes through a whole login; change may change the answer to the callback and what was kept.
func logIn(t *testing.T, i *issuer, p signin.Provider, change func(url.Values, *string)) (*signin.Person, error) {
	t.Helper()
	location, kept, err := p.Begin(t.Context())
	if err != nil {
		return nil, err
	}
	query := i.authorize(location)
	if change != nil {
		change(query, &kept)
	}
	return p.Finish(t.Context(), query, kept)
}

func TestLogin(t *testing.T) {
	i := newIssuer(t)
	p := open(t, options(i.URL))
	who, err := logIn(t, i, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if who.Name != "ann@example.com" || who.Role != tokens.Operator || who.Expires.Before(time.Now().Add(11*time.Hour)) || p.Name() != i.URL {
		t.Errorf("who logged in is %+v", who)
	}
	i.claims = func(c map[string]any) { c["email"], c["email_verified"] = "bob@example.com", "true" }
	if who, err := logIn(t, i, p, nil); err != nil || who.Name != "bob@example.com" || who.Role != tokens.Viewer {
		t.Errorf("of a group it is %+v, %v", who, err)
	}
	o := options(i.URL)
	o.NameClaim, o.GroupsClaim, o.Lifetime = "preferred_username", "roles", time.Minute
	i.claims = func(c map[string]any) {
		c["preferred_username"], c["roles"], c["email_verified"] = "carl", []string{"finance"}, false
	}
	if who, err := logIn(t, i, open(t, o), nil); err != nil || who.Name != "carl" || who.Expires.After(time.Now().Add(2*time.Minute)) {
		t.Errorf("by other claims it is %+v, %v", who, err)
	}
}

// TestWhoMayNotLogIn is refused by words for the person.
func TestWhoMayNotLogIn(t *testing.T) {
	for name, c := range map[string]func(map[string]any){
		"no role":                func(c map[string]any) { c["email"], c["groups"] = "eve@example.com", []string{"sales"} },
		"an address not checked": func(c map[string]any) { c["email_verified"] = false },
		"no word of a check":     func(c map[string]any) { delete(c, "email_verified") },
		"no name":                func(c map[string]any) { delete(c, "email") },
		"a name that is a list":  func(c map[string]any) { c["email"] = []string{"ann@example.com"} },
		"groups that are a name": func(c map[string]any) { c["groups"] = "finance" },
		"another nonce":          func(c map[string]any) { c["nonce"] = "n" },
		"no nonce":               func(c map[string]any) { delete(c, "nonce") },
		"no account":             func(c map[string]any) { delete(c, "sub") },
		"an empty account":       func(c map[string]any) { c["sub"] = "" },
		"an account of 300":      func(c map[string]any) { c["sub"] = strings.Repeat("x", 300) },
		"another client's":       func(c map[string]any) { c["azp"] = "another" },
		"another's, two clients": func(c map[string]any) { c["aud"], c["azp"] = []string{"posthouse", "another"}, "another" },
		"nobody's, two clients":  func(c map[string]any) { c["aud"] = []string{"posthouse", "another"} },
		"azp that is no text":    func(c map[string]any) { c["azp"] = []string{"posthouse"} },
		"made in an hour":        func(c map[string]any) { c["iat"] = time.Now().Add(time.Hour).Unix() },
		"made a year ago":        func(c map[string]any) { c["iat"] = time.Now().Add(-365 * 24 * time.Hour).Unix() },
		"made at no time":        func(c map[string]any) { delete(c, "iat") },
		"logged in in an hour":   func(c map[string]any) { c["auth_time"] = time.Now().Add(time.Hour).Unix() },
	} {
		i := newIssuer(t)
		i.claims = c
		if who, err := logIn(t, i, open(t, options(i.URL)), nil); !errors.Is(err, posthouse.ErrForbidden) || who != nil {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
}

// TestForgedLogins lets nobody in by what a hostile browser or network sends.
func TestForgedLogins(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	unsigned := func(alg string) func([]byte) string {
		return func(p []byte) string {
			return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`"}`)) + "." + base64.RawURLEncoding.EncodeToString(p) + "."
		}
	}
	for name, c := range map[string]struct {
		claims func(map[string]any)
		sign   func([]byte) string
		change func(url.Values, *string)
	}{
		"another's key":      {sign: func(p []byte) string { return signed(t, other, p) }},
		"no signature":       {sign: unsigned("none")},
		"no signature, RSA":  {sign: unsigned("RS256")},
		"no token":           {sign: func([]byte) string { return "" }},
		"for another client": {claims: func(c map[string]any) { c["aud"] = "another" }},
		"of another issuer":  {claims: func(c map[string]any) { c["iss"] = "https://evil.example" }},
		"made at no number":  {claims: func(c map[string]any) { c["iat"] = "now" }},
		"expires as text":    {claims: func(c map[string]any) { c["exp"] = "4102444800" }},
		"good in an hour":    {claims: func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() }},
		"expired":            {claims: func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }},
		"another's state":    {change: func(q url.Values, _ *string) { q.Set("state", "s") }},
		"no state":           {change: func(q url.Values, _ *string) { q.Del("state") }},
		"another's code":     {change: func(q url.Values, _ *string) { q.Set("code", "c") }},
		"no code":            {change: func(q url.Values, _ *string) { q.Del("code"); q.Set("error", "access_denied") }},
		"nothing kept":       {change: func(q url.Values, kept *string) { q.Set("state", ""); *kept = "{}" }},
		"no JSON kept":       {change: func(_ url.Values, kept *string) { *kept = "x" }},
		"another verifier":   {change: func(_ url.Values, kept *string) { *kept = strings.Replace(*kept, `"verifier":"`, `"verifier":"x`, 1) }},
	} {
		i := newIssuer(t)
		i.claims, i.sign = c.claims, c.sign
		if who, err := logIn(t, i, open(t, options(i.URL)), c.change); err == nil || who != nil {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
}

// TestCodeIsGoodOnce: who sends the callback again is not let in.
func TestCodeIsGoodOnce(t *testing.T) {
	i := newIssuer(t)
	p := open(t, options(i.URL))
	location, kept, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	query := i.authorize(location)
	if _, err := p.Finish(t.Context(), query, kept); err != nil {
		t.Fatal(err)
	}
	if who, err := p.Finish(t.Context(), query, kept); err == nil {
		t.Errorf("the second time it is %+v", who)
	}
}

// TestProviderThatIsAway lets the server start, says so at a login, and is asked again at the next.
func TestProviderThatIsAway(t *testing.T) {
	i := newIssuer(t)
	at := i.URL
	p := open(t, options("http://127.0.0.1:1"))
	if _, _, err := p.Begin(t.Context()); err == nil || errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("a provider that is away says %v", err)
	}
	p = open(t, options(at))
	i.answer = func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusBadGateway); return true }
	if _, err := logIn(t, i, p, nil); err == nil || errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("a provider that fails says %v", err)
	}
	i.answer = func(w http.ResponseWriter) bool {
		w.Header().Set("Location", "https://evil.example/token")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
	if _, err := logIn(t, i, p, nil); err == nil {
		t.Error("the client's secret follows a redirect")
	}
	i.answer = nil
	if _, err := logIn(t, i, p, nil); err != nil {
		t.Errorf("a provider that is back says %v", err)
	}
}

// TestKeyChangesWithRoles: who loses a role in the configuration has to log in again.
func TestKeyChangesWithRoles(t *testing.T) {
	key := func(change func(*signin.Options)) string {
		o := options("https://accounts.example.com")
		change(o)
		return open(t, o).Key()
	}
	same := key(func(*signin.Options) {})
	if again := key(func(o *signin.Options) { o.ClientSecret = "rotated" }); again != same {
		t.Errorf("with another secret the key is %s, before %s", again, same)
	}
	for name, change := range map[string]func(*signin.Options){
		"roles": func(o *signin.Options) { o.Roles = o.Roles[:1] }, "client": func(o *signin.Options) { o.ClientID = "other" }, "claim": func(o *signin.Options) { o.NameClaim = "sub" },
	} {
		if key(change) == same {
			t.Errorf("with other %s the key stays", name)
		}
	}
}

// TestProviderThatHangs holds up nobody for longer than they wait, and each other not at all.
func TestProviderThatHangs(t *testing.T) {
	over := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer hanging.Close()
	defer close(over)
	p := open(t, options(hanging.URL))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for range 10 {
		go func() { _, _, err := p.Begin(ctx); ended <- err }()
	}
	cancel()
	for range 10 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a login that was left ends with %v", err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for field, change := range map[string]func(*signin.Options){
		"Issuer": func(o *signin.Options) { o.Issuer = "http://accounts.example.com" }, "URL": func(o *signin.Options) { o.URL = "posthouse.example.com" },
		"ClientID": func(o *signin.Options) { o.ClientID = "" }, "Roles": func(o *signin.Options) { o.Roles = nil }, "Lifetime": func(o *signin.Options) { o.Lifetime = -1 },
	} {
		o := options("https://accounts.example.com")
		change(o)
		var e *posthouse.Error
		if _, err := Open(o); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
