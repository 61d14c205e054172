package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// An issuer is a provider of OpenID Connect that does what a test says.
type issuer struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey

	claims func(map[string]any)             // changes those of the next ID token
	sign   func(payload []byte) string      // makes the ID token; nil: with the issuer's key
	answer func(w http.ResponseWriter) bool // answers for the token's endpoint, if it is true

	mu    sync.Mutex
	codes map[string]url.Values // what each code was asked for with
}

func newIssuer(t *testing.T) *issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.write(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		i.t.Error(err)
	}
}

// authorize is the person who logs in at the issuer: it returns the query of the callback.
func (i *issuer) authorize(location string) url.Values {
	i.t.Helper()
	u, err := url.Parse(location)
	if err != nil || u.Path != "/authorize" || u.Query().Get("code_challenge_method") != "S256" || u.Query().Get("response_type") != "code" {
		i.t.Fatalf("the browser is sent to %s, %v", location, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	code := rand.Text()
	i.codes[code] = u.Query()
	return url.Values{"code": {code}, "state": {u.Query().Get("state")}}
}

// token answers with an ID token, once for a code, to who has the code's verifier.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	if i.answer != nil && i.answer(w) {
		return
	}
	i.mu.Lock()
	asked, ok := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || r.FormValue("redirect_uri") != asked.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		i.write(w, map[string]any{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := map[string]any{
		"iss": i.URL, "aud": "posthouse", "sub": "7", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "nonce": asked.Get("nonce"),
		"email": "ann@example.com", "email_verified": true, "groups": []string{"finance"},
	}
	if i.claims != nil {
		i.claims(claims)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Error(err)
	}
	sign := i.sign
	if sign == nil {
		sign = func(p []byte) string { return signed(i.t, i.key, p) }
	}
	i.write(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": sign(payload)})
}

// signed is a token with a key's signature.
func signed(t *testing.T, key *rsa.PrivateKey, payload []byte) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "k1"}}, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	o, err := s.Sign(payload)
	if err != nil {
		t.Error(err)
		return ""
	}
	text, err := o.CompactSerialize()
	if err != nil {
		t.Error(err)
	}
	return text
}
