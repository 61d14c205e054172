package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/access"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestTokensOverHTTP are made, listed without their secrets, used and revoked by operators, and by no
// other role.
func TestTokensOverHTTP(t *testing.T) {
	h := open(t, nil)
	const path = "/api/tokens"
	for _, role := range []tokens.Role{tokens.Viewer, tokens.Approver, tokens.Worker} {
		for _, a := range []ask{{method: "GET", path: path}, {method: "POST", path: path, body: `{"name":"eve","role":"operator"}`}, {method: "DELETE", path: path + "/" + string(role)}} {
			a.as = role
			h.send(a).refused(posthouse.CodeForbidden)
		}
	}
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	var made access.Created
	body, err := json.Marshal(map[string]any{"name": "vera@example.com", "role": "viewer", "expiresAt": until})
	if err != nil {
		t.Fatal(err)
	}
	h.post(path, string(body)).want(http.StatusCreated).into(&made)
	if made.ExpiresAt == nil || !made.ExpiresAt.Equal(until) || made.Role != tokens.Viewer {
		t.Errorf("made %+v", made)
	}
	h.post(path, string(body)).refused(posthouse.CodeExists)
	header := []string{"Authorization: Bearer " + made.Token}
	h.send(ask{method: "GET", path: "/api/me", as: "-", header: header}).want(http.StatusOK)
	h.send(ask{method: "GET", path: path, as: "-", header: header}).refused(posthouse.CodeForbidden)
	list := h.get(path).want(http.StatusOK)
	if strings.Contains(string(list.body), made.Token) || strings.Contains(string(list.body), "hash") {
		t.Errorf("the list tells a secret: %s", list.body)
	}
	var all []access.Token
	list.into(&all)
	found, operator := 0, ""
	for _, x := range all {
		if x.You {
			operator = x.Name
		}
		if x.Name == "vera@example.com" && x.Role == tokens.Viewer && x.ExpiresAt.Equal(until) && x.LastUsedAt != nil && !x.You || x.Role == tokens.Operator && x.You {
			found++
		}
	}
	if found != 2 {
		t.Errorf("listed %+v", all)
	}
	h.send(ask{method: "DELETE", path: path + "/vera@example.com"}).want(http.StatusNoContent)
	h.send(ask{method: "DELETE", path: path + "/vera@example.com"}).refused(posthouse.CodeNotFound)
	h.send(ask{method: "GET", path: "/api/me", as: "-", header: header}).want(http.StatusUnauthorized)
	h.send(ask{method: "DELETE", path: path + "/" + operator}).refused(posthouse.CodeConflict) // the last of them
	h.get("/api/me").want(http.StatusOK)
}

// TestTokensThatAreRefused name the field.
func TestTokensThatAreRefused(t *testing.T) {
	h := open(t, nil)
	for body, field := range map[string]string{
		`{"role":"viewer"}`:                                                         "name",
		`{"name":"a b","role":"viewer"}`:                                            "name",
		`{"name":"worker:x","role":"viewer"}`:                                       "name",
		`{"name":"a","role":"root"}`:                                                "role",
		`{"name":"a","role":"viewer","expiresAt":"2001-01-01T00:00:00Z"}`:           "expires",
		`{"name":"a","role":"viewer","expiresAt":"0001-01-01T00:00:00Z"}`:           "expiresAt",
		`{"name":"a","role":"viewer","groups":["gpu"]}`:                             "role",
		`{"name":"a","role":"worker","tasks":["` + strings.Repeat("x", 300) + `"]}`: "task",
	} {
		p := h.post("/api/tokens", body).refused(posthouse.CodeInvalid)
		if !strings.HasPrefix(p.Field, field) && !strings.HasPrefix(field, p.Field) {
			t.Errorf("%s is refused for %q: %s", body, p.Field, p.Detail)
		}
	}
}
