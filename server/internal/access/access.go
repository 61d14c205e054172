package access

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/tokens"
)

// An Access is the resource. Make it with [New].
type Access struct {
	tokens *tokens.List
	auth   *auth.Authenticator
	record *authlog.Log
	log    *slog.Logger
	now    func() time.Time
}

// New returns the tokens of a server. The Authenticator's record has each that is made or revoked, and log
// a line.
func New(list *tokens.List, a *auth.Authenticator, log *slog.Logger, now func() time.Time) *Access {
	return &Access{list, a, a.Record, log, now}
}

// A Token is what is known of an access token. Its secret is nowhere.
type Token struct {
	Name       string      `json:"name" doc:"under which what is done with it is recorded"`
	Role       tokens.Role `json:"role" doc:"viewer, approver, operator or worker"`
	CreatedAt  time.Time   `json:"createdAt"`
	ExpiresAt  *time.Time  `json:"expiresAt,omitempty" doc:"it is refused from then on; absent: never"`
	Expired    bool        `json:"expired,omitempty" doc:"that time is over"`
	LastUsedAt *time.Time  `json:"lastUsedAt,omitempty" doc:"to the minute, at any server of the data directory; absent: never, or not known"`
	Logins     int         `json:"logins,omitempty" doc:"browsers that are logged in with it, at this server"`
	Groups     []string    `json:"groups,omitempty" doc:"of a worker: the groups that it may take tasks of"`
	Tasks      []string    `json:"tasks,omitempty" doc:"of a worker: the names of tasks that it may take"`
	Maker      string      `json:"maker,omitempty" doc:"who made it over the API; absent: it was made where the data directory is, or by an earlier version, and is confirmed"`
	Confirmed  bool        `json:"confirmed" doc:"it speaks for nobody but its name; otherwise it and its maker, and all unconfirmed tokens of one maker, count as one person at every question"`
	You        bool        `json:"you,omitempty" doc:"it is the one that asks"`
}

type createBody struct {
	Name      string      `json:"name" doc:"1 to 200 bytes of letters, digits and . _ : $ @ + -; required"`
	Role      tokens.Role `json:"role" doc:"viewer, approver, operator or worker; required"`
	ExpiresAt *time.Time  `json:"expiresAt,omitempty" doc:"when it stops being good, to the second; absent: never"`
	Groups    []string    `json:"groups,omitempty" doc:"of a worker: the groups that it may take tasks of, beside those of no group; * is all. At most 1,000"`
	Tasks     []string    `json:"tasks,omitempty" doc:"of a worker: the names of tasks that it may take; absent: all. At most 1,000"`
}

// A Created is a new token, with its secret.
type Created struct {
	Token     string      `json:"token" doc:"the secret, shown only now"`
	Name      string      `json:"name"`
	Role      tokens.Role `json:"role" doc:"viewer, approver, operator or worker"`
	ExpiresAt *time.Time  `json:"expiresAt,omitempty" doc:"absent: never"`
}

// Routes are the lines of the table.
func (a *Access) Routes() []*api.Route {
	const path = "/api/tokens"
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Operator, Summary: "List access tokens", Handle: api.All(a.list), Query: []api.Param{api.FieldsParam()},
			Notes:   "By name, with those that have expired, and when each was used last. Secrets are kept nowhere.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the tokens", Body: api.List[Token]{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path, Role: tokens.Operator, Summary: "Make an access token", Handle: api.Take(a.create), Body: createBody{},
			Notes: "The answer has the secret, which is shown only now; the server keeps its hash, and with an " + api.KeyHeader + " the answer, encrypted with that key. " +
				"It takes the place of a token of that name that has expired. 409 for a name that is taken. Until it is confirmed, it and its maker count as one person.",
			Answers: []api.Answer{{Status: http.StatusCreated, Help: "the token", Body: Created{}, Media: ""}},
			Example: createBody{Name: "ci", Role: tokens.Viewer},
		},
		{
			Method: http.MethodPost, Path: path + "/{owner}/confirm", Role: tokens.Operator, Summary: "Confirm that an access token is another person's than its maker's", Handle: a.confirm,
			Notes: "From then on the two are two people at every question, also at those that are open. 403 for its maker, for an operator whose own token has that maker, and for one " +
				"whose token is not confirmed: they need another operator, or posthouse token confirm where the data directory is. A confirmed token is left as it is.",
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is confirmed", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path + "/{owner}", Role: tokens.Operator, Summary: "Revoke an access token", Handle: a.revoke,
			Notes:   "At once, also for browsers that are logged in with it and streams that are open. What was done with it stays on record. 409 for the last good token of an operator.",
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is revoked", Body: nil, Media: ""}},
		},
	}
}

func (a *Access) list(r *api.Request) ([]Token, error) {
	known, err := a.tokens.All()
	if err != nil {
		return nil, err
	}
	logins, now := a.auth.Logins(), a.now()
	var all []Token
	for i := range known {
		k := &known[i]
		all = append(all, Token{
			Name: k.Name, Role: k.Role, CreatedAt: k.CreatedAt, ExpiresAt: moment(k.ExpiresAt), Expired: k.Expired(now), LastUsedAt: moment(k.LastUsedAt),
			Logins: logins[k.Hash], Groups: k.Groups, Tasks: k.Tasks, Maker: k.Maker.Name, Confirmed: k.IsConfirmed(), You: k.Hash == r.Actor.Hash,
		})
	}
	return all, nil
}

// moment returns nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *Access) create(w http.ResponseWriter, r *api.Request, b *createBody) error {
	o := &tokens.CreateOptions{Groups: b.Groups, Tasks: b.Tasks, Maker: tokens.MakerOf(&r.Actor)}
	if a.auth.Provider != "" && strings.Contains(b.Name, "@") {
		e := posthouse.Invalid("name", "%.40q has an @: people log in here with accounts elsewhere, and such names are theirs", b.Name)
		e.Hint = "choose another name; who has the account logs in with it"
		return e
	}
	if b.ExpiresAt != nil {
		o.ExpiresAt = *b.ExpiresAt
		if o.ExpiresAt.IsZero() {
			return posthouse.Invalid("expiresAt", "is the zero time; leave it out for a token that never ends")
		}
	}
	secret, err := a.record.Create(r.Context(), r.Actor.Name, authlog.Address(r.Request), b.Name, b.Role, o)
	if err != nil {
		return err
	}
	a.log.Warn("an access token was made", "token", b.Name, "role", b.Role, "by", r.Actor.Name)
	made := Created{Token: secret, Name: b.Name, Role: b.Role}
	if b.ExpiresAt != nil {
		made.ExpiresAt = moment(o.ExpiresAt.UTC().Truncate(time.Second))
	}
	w.Header().Set("Cache-Control", "no-store")
	return api.WriteJSON(w, http.StatusCreated, &made)
}

func (a *Access) confirm(w http.ResponseWriter, r *api.Request) error {
	name := r.Name("owner")
	if err := a.record.Confirm(r.Context(), &r.Actor, authlog.Address(r.Request), name); err != nil {
		return err
	}
	a.log.Warn("an access token was confirmed as another person's than its maker's", "token", name, "by", r.Actor.Name)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *Access) revoke(w http.ResponseWriter, r *api.Request) error {
	name := r.Name("owner")
	err := a.record.Revoke(r.Context(), r.Actor.Name, authlog.Address(r.Request), name)
	if e, ok := errors.AsType[*posthouse.Error](err); ok && e.Code == posthouse.CodeConflict {
		e.Hint = "make another operator's token first"
	}
	if err != nil {
		return err
	}
	a.log.Warn("an access token was revoked", "token", name, "by", r.Actor.Name)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
