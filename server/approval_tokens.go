package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

const (
	gateTokens       = "$approvals"       // the thread of their slots
	gateTokensOfSlot = 400                // that have not ended, in one of the 256 slots
	maxGateToken     = 7 * 24 * time.Hour // how long one is good
)

// A gateToken is what is kept of an approval token. That it was used is no part of it:
// the decision names it, so deciding and using it up are one commit.
type gateToken struct {
	Gate     posthouse.ID        `json:"gate"`
	Hash     posthouse.Hash      `json:"hash"` // SHA-256 of the secret
	For      string              `json:"for"`  // who decides with it
	Maker    gateTokenMaker      `json:"maker"`
	Shown    posthouse.Hash      `json:"shown"` // the gate's entry
	Verdicts []posthouse.Verdict `json:"verdicts"`
	Until    posthouse.Millis    `json:"until"`

	// Endpoint is where the token was sent, in place of a Maker: it is good while the configuration has
	// that endpoint decide for the person.
	Endpoint string         `json:"endpoint,omitempty"`
	Key      posthouse.Hash `json:"key,omitzero"` // of the endpoint, as notify.KeyHash: the token ends when the endpoint has that key no more
}

// A gateTokenMaker is the access token that an approval token was made with. They end
// together.
type gateTokenMaker struct {
	Name string         `json:"name"`
	Role tokens.Role    `json:"role"`
	Hash posthouse.Hash `json:"hash"`

	// Of somebody who logged in without a token.
	SignedIn  string    `json:"signedIn,omitempty"`
	Since     time.Time `json:"since,omitzero"`     // when the login began
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // of links of before
}

type gateTokenBody struct {
	For       string              `json:"for,omitempty" doc:"whose decision it carries, if not the access token's owner's; needs the role operator"`
	Verdicts  []posthouse.Verdict `json:"verdicts,omitempty" doc:"which it may give; approve and reject unless set; happened and give-up of an unknown outcome"`
	ExpiresAt *time.Time          `json:"expiresAt,omitempty" doc:"when it ends; at the latest, and unless set: the gate's deadline, the access token's, or in 7 days"`
}

// A GateToken is a new approval token.
type GateToken struct {
	Token     string              `json:"token,omitempty" doc:"64 hexadecimal digits, shown only now"`
	Gate      posthouse.ID        `json:"gate"`
	For       string              `json:"for" doc:"whose decision it carries"`
	By        string              `json:"by" doc:"who made it"`
	Verdicts  []posthouse.Verdict `json:"verdicts" doc:"which it may give"`
	Shown     posthouse.Hash      `json:"shown" doc:"hash of what the gate shows: the decision counts for that alone"`
	ExpiresAt time.Time           `json:"expiresAt"`
}

type tokenDecideBody struct {
	Verdict posthouse.Verdict `json:"verdict" doc:"one of those of the token"`
	Reason  string            `json:"reason,omitempty" doc:"at most 4,000 bytes"`
	Value   json.RawMessage   `json:"value,omitempty" doc:"the changed values of edit, the answer of respond, the result of happened"`
	Shown   posthouse.Hash    `json:"shown,omitzero" doc:"hash of what was on the screen: another than the token's is refused"`
}

// A TokenDecision answers a decision that an approval token carried.
type TokenDecision struct {
	Gate     posthouse.ID        `json:"gate"`
	Decision *posthouse.Decision `json:"decision,omitempty"`
	Vote     *posthouse.Decision `json:"vote,omitempty" doc:"on a gate that asks several people, while more votes are needed"`
	Missing  int                 `json:"missing,omitempty" doc:"how many approvals the gate still needs"`
}

// approvalTokens are /api/gates/{id}/token and decide-by-token. Their hashes are kept in slots
// of the store.
type approvalTokens struct {
	ledger   *ledger.Ledger
	recovery *recovery
	auth     *auth.Authenticator // of the access tokens that they were made with
	notifier Notifier            // of the endpoints that they were sent to; may be nil
	now      func() time.Time
}

func (ts *approvalTokens) Routes() []*api.Route {
	const path = "/api/gates"
	return []*api.Route{
		{
			Method: http.MethodPost, Path: path + "/{id}/token", Role: tokens.Approver, Summary: "Make an approval token: one decision of this gate, for who has no access",
			Notes: "For one person, who must be allowed to decide; the same rules hold once it is used. Another one for the same person ends the first. The server keeps its hash alone, and with an " + api.KeyHeader + " the answer, encrypted with that key.",
			Body:  gateTokenBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the token", Body: GateToken{}, Media: ""}}, Handle: api.Reply(ts.makeToken),
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/decide-by-token", Approval: true, Holder: ts.holder, Summary: "Decide with an approval token", State: true,
			Notes: "In the header Authorization: Bearer, as an access token is. It is taken once: a second use gets 409 with the first decision. " +
				"One that is unknown, another gate's, replaced or past its time gets the same 401. It answers once the decision is on record.",
			Body: tokenDecideBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "what went on record", Body: TokenDecision{}, Media: ""}}, Handle: ts.decide,
		},
		{
			Method: http.MethodGet, Path: path + "/{id}/by-token", Approval: true, Summary: "Show the gate of an approval token", Handle: ts.show,
			Notes:   "In the header Authorization: Bearer. It decides nothing and uses nothing up.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "what is asked, and of whom", Body: TokenGate{}, Media: ""}},
		},
	}
}

// holder returns who the approval token of a request stands for in keys, which is its holder alone.
func (ts *approvalTokens) holder(r *api.Request) (string, error) {
	t, err := ts.find(r)
	if err != nil {
		return "", err
	}
	return "approval token " + hex.EncodeToString(t.Hash[:]), nil
}

// makeToken makes a token for a person who may give its verdicts now. Whether they
// still may is checked again when it is used.
func (ts *approvalTokens) makeToken(r *api.Request, b *gateTokenBody) (*GateToken, error) {
	g, err := ts.ledger.Gate(r.Context(), r.ID("id"))
	if err != nil {
		return nil, err
	}
	person, actor, err := auth.ActingFor(r.Actor, b.For)
	if err != nil {
		return nil, err
	}
	now := ts.now()
	if err := takesTokens(g, now); err != nil {
		return nil, err
	}
	verdicts, err := tokenVerdicts(g, &posthouse.Decision{By: person, Actor: actor}, b.Verdicts, now)
	if err != nil {
		return nil, err
	}
	own := r.Actor.ExpiresAt
	if r.Actor.SignedIn != "" {
		own = time.Time{} // a link outlasts the login that made it
	}
	until := tokenEnd(now, g.ExpiresAt, own)
	if b.ExpiresAt != nil {
		if !now.Before(*b.ExpiresAt) || until.Before(*b.ExpiresAt) {
			return nil, posthouse.Invalid("expiresAt", "must be in the future, and not after %s", until.UTC().Format(time.RFC3339))
		}
		until = *b.ExpiresAt
	}
	secret := tokens.NewApproval()
	t := gateToken{
		Gate: g.ID, Hash: sha256.Sum256([]byte(secret)), For: person, Maker: makerOf(r.Actor),
		Shown: g.Hash, Verdicts: verdicts, Until: posthouse.Millis(until.UnixMilli()),
	}
	if err := ts.keep(r.Context(), t); err != nil {
		return nil, err
	}
	return &GateToken{
		Token: secret, Gate: g.ID, For: person, By: r.Actor.Name, Verdicts: verdicts, Shown: g.Hash, ExpiresAt: time.UnixMilli(int64(t.Until)).UTC(),
	}, nil
}

func makerOf(t tokens.Token) gateTokenMaker {
	m := gateTokenMaker{Name: t.Name, Role: t.Role, Hash: t.Hash, SignedIn: t.SignedIn}
	if t.SignedIn != "" {
		m.Since = t.CreatedAt
	}
	return m
}

func (m *gateTokenMaker) token() tokens.Token {
	return tokens.Token{Name: m.Name, Role: m.Role, Hash: m.Hash, SignedIn: m.SignedIn, CreatedAt: m.Since, ExpiresAt: m.ExpiresAt}
}

// takesTokens returns why there are no tokens for a gate, or nil.
func takesTokens(g *posthouse.Gate, now time.Time) error {
	switch {
	case g.Decision != nil:
		return &posthouse.Error{
			Code: posthouse.CodeDecided, Decision: g.Decision, Message: "gate " + string(g.ID) + " was decided before: " + string(g.Decision.Verdict) + " by " + g.Decision.By,
			Hint: "the decision stands; a fork asks again",
		}
	case g.Lapsed(now):
		return &posthouse.Error{Code: posthouse.CodeExpired, Message: "the deadline of gate " + string(g.ID) + " has passed", Hint: "posthouse ask-again " + string(g.ID)}
	case g.Kind == posthouse.GateSession:
		return posthouse.Invalid("gate", "%s waits on a connection; there are no tokens for it", g.ID)
	}
	return nil
}

// tokenEnd returns when a token ends at the latest: at the first of some times that are not zero.
func tokenEnd(now time.Time, ends ...time.Time) time.Time {
	until := now.Add(maxGateToken)
	for _, end := range ends {
		if !end.IsZero() && end.Before(until) {
			until = end
		}
	}
	return until
}

// tokenVerdicts returns the verdicts of a new token, or why the person may not give one
// of them.
func tokenVerdicts(g *posthouse.Gate, d *posthouse.Decision, asked []posthouse.Verdict, now time.Time) (vs []posthouse.Verdict, err error) {
	if len(asked) == 0 {
		for _, a := range g.Answers() {
			switch a.Verdict {
			case posthouse.Approve, posthouse.Reject, posthouse.Happened, posthouse.GiveUp:
				asked = append(asked, a.Verdict)
			}
		}
	}
	if len(asked) == 0 {
		return nil, posthouse.Invalid("verdicts", "are required for this gate, which allows %v", g.Verdicts)
	}
	for _, v := range asked {
		switch a, ok := g.Answer(v); {
		case !posthouse.KnownVerdict(v) && !v.Info().Settle:
			return nil, posthouse.Invalid("verdicts", "%.40q is not one of %s", string(v), posthouse.JoinVerdicts(g.Choices(), ", "))
		case ok && a.Page:
			return nil, onItsPage(v)
		}
		if err := g.CheckWord(v); err != nil {
			return nil, err
		}
		one := *d
		one.Verdict = v
		if err := deciders.MayGive(g, &one, now); err != nil {
			return nil, err
		}
		if !slices.Contains(vs, v) {
			vs = append(vs, v)
		}
	}
	return vs, nil
}

// decide decides the gate in the name of the person that the token is for. The
// Ledger checks their right as it does everybody's.
func (ts *approvalTokens) decide(w http.ResponseWriter, r *api.Request) error {
	t, err := ts.find(r)
	if err != nil {
		return err
	}
	api.NoteActor(w, t.For)
	var b tokenDecideBody
	if err := r.Decode(&b); err != nil {
		return err
	}
	g, err := ts.ledger.Gate(r.Context(), t.Gate)
	if err != nil {
		return err
	}
	if err := g.CheckWord(b.Verdict); err != nil {
		return err
	}
	switch a, ok := g.Answer(b.Verdict); {
	case ok && a.Page:
		return onItsPage(b.Verdict)
	case !slices.Contains(t.gives(g), b.Verdict):
		return posthouse.Invalid("verdict", "%.40q is not among those of this token: %v", string(b.Verdict), t.gives(g))
	}
	if !b.Shown.IsZero() && b.Shown != t.Shown {
		return &posthouse.Error{Code: posthouse.CodeConflict, Field: "shown", Message: "what was shown is not what this token is for", Hint: "show the gate again: nothing was decided"}
	}
	d := t.decision(b.Verdict)
	d.Reason, d.Value = b.Reason, b.Value
	if g.Decision == nil {
		if err := ts.recovery.check(r.Context(), g, d); err != nil {
			return err
		}
	}
	// A client that goes away does not undo its decision.
	g, err = decideOnce(r, ts.ledger, g.ID, d)
	if err != nil {
		return t.hides(err)
	}
	a := &TokenDecision{Gate: g.ID, Decision: g.Decision, Missing: g.Missing()}
	if g.Decision == nil {
		a.Vote = g.Voted(d.By)
	}
	return api.WriteJSON(w, http.StatusOK, a)
}

// gives returns the verdicts that the token gives: those that it was made for, in today's words.
func (t *gateToken) gives(g *posthouse.Gate) []posthouse.Verdict {
	vs := []posthouse.Verdict{}
	for _, v := range t.Verdicts {
		if a, ok := g.Answer(v); ok && !a.Page {
			vs = append(vs, a.Verdict)
		}
	}
	return vs
}

// onItsPage returns the error of a verdict that no token carries.
func onItsPage(v posthouse.Verdict) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Field: "verdict", Message: string(v) + " is given by nobody who is not logged in: not by a link, a token, mail or Slack",
		Hint: "log in and look at the question on its page, or: posthouse gate show GATE",
	}
}

// decision returns the decision that the token carries, without what its holder adds.
func (t *gateToken) decision(v posthouse.Verdict) *posthouse.Decision {
	d := &posthouse.Decision{Verdict: v, By: t.For, Shown: t.Shown, Token: t.Hash}
	switch {
	case t.Endpoint != "":
		d.Actor = endpointActor(t.Endpoint)
	case t.Maker.Name != t.For:
		d.Actor = t.Maker.Name
	}
	return d
}

// hides leaves out of an error what the token's holder may not read: the words of a
// decision that another one gave.
func (t *gateToken) hides(err error) error {
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Decision == nil || e.Decision.Token == t.Hash {
		return err
	}
	less, d := *e, e.Decision
	less.Decision = &posthouse.Decision{Gate: d.Gate, Verdict: d.Verdict, By: d.By, At: d.At}
	return &less
}

// find returns the approval token of a request. All that is wrong with one gets
// the same answer, and the gate is not looked at before.
func (ts *approvalTokens) find(r *api.Request) (*gateToken, error) {
	refused := &posthouse.Error{
		Code: problem.CodeUnauthenticated, Message: "a valid approval token of this gate is needed",
		Hint: "send Authorization: Bearer with it, or ask whoever sent it for another",
	}
	secret, _ := auth.Bearer(r.Request)
	if !tokens.IsApproval(secret) {
		return nil, refused
	}
	all, _, err := ts.beside(r.Context(), r.ID("id"))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(secret))
	var t *gateToken
	for i := range all { // all of them, so that the time it takes reveals nothing
		if subtle.ConstantTimeCompare(sum[:], all[i].Hash[:]) == 1 {
			t = &all[i]
		}
	}
	if t == nil || t.Gate != r.ID("id") || posthouse.Millis(ts.now().UnixMilli()) >= t.Until {
		return nil, refused
	}
	if t.Endpoint != "" {
		if !ts.carries(t) {
			return nil, refused
		}
		return t, nil
	}
	switch ok, err := ts.auth.CurrentMaker(t.Maker.token()); {
	case err != nil:
		return nil, ts.auth.Unavailable(err)
	case !ok:
		return nil, refused
	}
	return t, nil
}

// beside returns the approval tokens in a gate's slot, which are also those of
// other gates.
func (ts *approvalTokens) beside(ctx context.Context, gate posthouse.ID) (all []gateToken, revision uint64, err error) {
	have, err := ts.ledger.Store().Slot(ctx, gateTokenSlot(gate), posthouse.SlotOp{Verb: posthouse.SlotGet})
	switch {
	case errors.Is(err, posthouse.ErrNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case json.Unmarshal(have.Value, &all) != nil:
		return nil, 0, &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "the approval tokens do not decode"}
	}
	return all, have.Revision, nil
}

// keep puts a token in its slot, in the place of an earlier one for the same
// person, by the same endpoint if it is for one. Tokens that have ended go.
func (ts *approvalTokens) keep(ctx context.Context, t gateToken) error {
	for {
		all, revision, err := ts.beside(ctx, t.Gate)
		if err != nil {
			return err
		}
		if t.Endpoint != "" && slices.ContainsFunc(all, func(x gateToken) bool {
			return x.Hash == t.Hash && x.Until == t.Until && slices.Equal(x.Verdicts, t.Verdicts)
		}) {
			return nil // for an endpoint that is told once more
		}
		now := posthouse.Millis(ts.now().UnixMilli())
		all = slices.DeleteFunc(all, func(x gateToken) bool {
			return now >= x.Until || x.Gate == t.Gate && x.For == t.For && x.Endpoint == t.Endpoint
		})
		if len(all) >= gateTokensOfSlot {
			all, err = ts.ofOpenGates(ctx, all)
			if err != nil {
				return err
			}
		}
		if len(all) >= gateTokensOfSlot {
			return &posthouse.Error{Code: problem.CodeTooMany, Message: "too many approval tokens have not ended", Hint: "decide the gate in another way, or try again later"}
		}
		value, err := json.Marshal(append(all, t))
		if err != nil {
			return err
		}
		_, err = ts.ledger.Store().Slot(ctx, gateTokenSlot(t.Gate), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision})
		if !errors.Is(err, posthouse.ErrConflict) {
			return err
		}
	}
}

// ofOpenGates returns the tokens that can still decide something. It reads their gates.
func (ts *approvalTokens) ofOpenGates(ctx context.Context, all []gateToken) ([]gateToken, error) {
	open := map[posthouse.ID]bool{}
	for _, t := range all {
		if _, seen := open[t.Gate]; seen {
			continue
		}
		g, err := ts.ledger.Gate(ctx, t.Gate)
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) && !errors.Is(err, posthouse.ErrCorrupt) && !errors.Is(err, posthouse.ErrSealed) {
			return nil, err
		}
		open[t.Gate] = err == nil && g.Decision == nil
	}
	return slices.DeleteFunc(all, func(t gateToken) bool { return !open[t.Gate] }), nil
}

func gateTokenSlot(gate posthouse.ID) posthouse.SlotKey {
	sum := sha256.Sum256([]byte(gate))
	return posthouse.SlotKey{Thread: gateTokens, Step: hex.EncodeToString(sum[:1])}
}

// endpointActor is how records name an endpoint that a decision came by.
func endpointActor(endpoint string) string { return "endpoint:" + endpoint }

// carries reports whether who gets the messages of a token's endpoint still decides in the person's name,
// and by the key that the token follows from.
func (ts *approvalTokens) carries(t *gateToken) bool {
	if ts.notifier == nil {
		return false
	}
	who, keys := ts.notifier.DecidesFor(t.Endpoint)
	return who == t.For && slices.Contains(keys, t.Key)
}

// Approval returns the approval token of a gate for an endpoint, as Options.Approve of package notify
// wants it. It follows from the endpoint's key, so that a message that is sent again has the same. It
// fails with the error of a person who may not decide.
func (s *Server) Approval(ctx context.Context, o *notify.ApprovalRequest) (*notify.Approval, error) {
	return s.tokens.forEndpoint(ctx, o)
}

func (ts *approvalTokens) forEndpoint(ctx context.Context, o *notify.ApprovalRequest) (*notify.Approval, error) {
	g, now := o.Gate, ts.now()
	if err := takesTokens(g, now); err != nil {
		return nil, err
	}
	verdicts, err := tokenVerdicts(g, &posthouse.Decision{By: o.Person, Actor: endpointActor(o.Endpoint)}, nil, now)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, o.Key)
	for _, part := range []string{"posthouse approval 1", string(g.ID), g.Hash.String(), o.Endpoint, o.Person} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	secret := hex.EncodeToString(mac.Sum(nil))
	until := tokenEnd(g.CreatedAt, g.ExpiresAt)
	t := gateToken{
		Gate: g.ID, Hash: sha256.Sum256([]byte(secret)), For: o.Person, Endpoint: o.Endpoint, Key: notify.KeyHash(o.Key), Shown: g.Hash, Verdicts: verdicts,
		Until: posthouse.Millis(until.UnixMilli()),
	}
	if !now.Before(until) {
		return nil, &posthouse.Error{Code: posthouse.CodeExpired, Message: "the time of approval tokens of gate " + string(g.ID) + " has passed"}
	}
	if err := ts.keep(ctx, t); err != nil {
		return nil, err
	}
	return &notify.Approval{Token: secret, For: o.Person, Verdicts: verdicts, ExpiresAt: until.UTC()}, nil
}

// A TokenGate is a gate as the holder of its approval token sees it.
type TokenGate struct {
	Gate       *notify.Gate        `json:"gate"`
	For        string              `json:"for" doc:"whose decision the token carries"`
	ExpiresAt  time.Time           `json:"expiresAt" doc:"when the token ends, which may be before the gate's deadline"`
	Verdicts   []posthouse.Verdict `json:"verdicts" doc:"which it may give"`
	May        []posthouse.Verdict `json:"may" doc:"which of them it may give now"`
	Barred     string              `json:"barred,omitempty" doc:"why it may not give the others now"`
	State      inbox.State         `json:"state" doc:"open, decided, expired or withdrawn"`
	Note       string              `json:"note,omitempty" doc:"why people are asked"`
	Schema     json.RawMessage     `json:"schema,omitempty" doc:"JSON Schema that a value satisfies"`
	Before     *diff.AskedBefore   `json:"before,omitempty" doc:"what the gate showed that this one supersedes"`
	Duplicates []inbox.Duplicate   `json:"duplicates,omitempty" doc:"of an open gate: questions of its name on other branches of its thread and in its forks, as GET /api/gates/{id} has them"`
	Quorum     *posthouse.Quorum   `json:"quorum,omitempty" doc:"several people vote"`
	Votes      []TokenVote         `json:"votes,omitempty" doc:"of a quorum, oldest first"`
	Decision   *posthouse.Decision `json:"decision,omitempty" doc:"who decided, and what; the reason and values only of the token's own"`
	Why        string              `json:"why,omitempty" doc:"of a gate that was withdrawn: who cancelled its branch, or that the branch went on"`
}

// A TokenVote is a vote as the holder of an approval token sees it: without the words of others.
type TokenVote struct {
	Verdict posthouse.Verdict `json:"verdict"`
	By      string            `json:"by"`
	At      time.Time         `json:"at"`
}

// show answers what the gate of an approval token asks. It uses nothing up.
func (ts *approvalTokens) show(w http.ResponseWriter, r *api.Request) error {
	t, err := ts.find(r)
	if err != nil {
		return err
	}
	api.NoteActor(w, t.For)
	g, err := ts.ledger.Gate(r.Context(), t.Gate)
	if err != nil {
		return err
	}
	shown := &TokenGate{
		Gate: notify.Shown(g), For: t.For, ExpiresAt: time.UnixMilli(int64(t.Until)).UTC(), Verdicts: t.gives(g), May: []posthouse.Verdict{}, State: inbox.StateOf(g), Note: g.Note, Schema: g.Schema,
		Before: diff.Before(r.Context(), ts.ledger, g), Quorum: g.Quorum, Decision: g.Decision,
	}
	shown.Duplicates, err = inbox.Duplicates(r.Context(), ts.ledger, g)
	if err != nil {
		return err
	}
	for i := range g.Votes {
		shown.Votes = append(shown.Votes, TokenVote{g.Votes[i].Verdict, g.Votes[i].By, g.Votes[i].At})
	}
	shown.Why, err = inbox.WhyWithdrawn(r.Context(), ts.ledger, g)
	if err != nil {
		return err
	}
	if d := g.Decision; d != nil {
		if d.Token != t.Hash {
			shown.Decision = &posthouse.Decision{Gate: d.Gate, Verdict: d.Verdict, By: d.By, At: d.At, Successor: d.Successor}
		}
		return api.WriteJSON(w, http.StatusOK, shown)
	}
	for _, v := range t.gives(g) {
		err := deciders.MayGive(g, t.decision(v), ts.now())
		if err == nil {
			shown.May = append(shown.May, v)
		} else if shown.Barred == "" {
			shown.Barred = problem.Client(err).Message
		}
	}
	return api.WriteJSON(w, http.StatusOK, shown)
}
