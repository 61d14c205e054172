package server

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// approvalToken makes an approval token as an operator.
func (h *testServer) approvalToken(g *posthouse.Gate, body string) (made GateToken) {
	h.t.Helper()
	h.post("/api/gates/"+string(g.ID)+"/token", body).want(http.StatusOK).into(&made)
	return made
}

// byToken decides a gate with a token.
func (h *testServer) byToken(gate posthouse.ID, token, body string) *reply {
	h.t.Helper()
	return h.send(ask{method: "POST", path: "/api/gates/" + string(gate) + "/decide-by-token", as: "-", body: body, header: []string{"Authorization: Bearer " + token}})
}

// refusedToken asserts the one answer that every token gets which is no good.
func (h *testServer) refusedToken(gate posthouse.ID, token string) {
	h.t.Helper()
	for _, body := range []string{`{"verdict":"approve"}`, `{"nonsense":1}`, ""} {
		p := h.byToken(gate, token, body).refused(problem.CodeUnauthenticated)
		p.Instance, p.TraceID = "", ""
		got, err := json.Marshal(p)
		must.Do(h.t, err)
		want := `{"type":"https://github.com/posthouse/posthouse/blob/main/docs/errors.md#unauthenticated","title":"Unauthorized","status":401,` +
			`"detail":"a valid approval token of this gate is needed","instance":"","code":"unauthenticated","hint":"send Authorization: Bearer with it, or ask whoever sent it for another"}`
		if string(got) != want {
			h.t.Errorf("it is told %s", got)
		}
	}
}

// run carries out what was decided.
func (h *testServer) run(thread string) *posthouse.Header {
	h.t.Helper()
	head, err := h.program.Wait(h.t.Context(), thread, posthouse.MainBranch, 0)
	must.Do(h.t, err)
	return head
}

func TestApprovalTokenDecidesOnce(t *testing.T) {
	h := open(t, nil)
	for i, verdict := range []posthouse.Verdict{posthouse.Approve, posthouse.Reject} {
		thread := fmt.Sprint("t", i)
		_, g := h.waiting(thread)
		made := h.approvalToken(g, `{"for":"alice"}`)
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(made.Token) || made.Gate != g.ID || made.For != "alice" || made.By != "operator-token" || made.Shown != g.Hash {
			t.Fatalf("made %+v", made)
		}
		if left := time.Until(made.ExpiresAt); left > maxGateToken || left < maxGateToken-time.Minute {
			t.Errorf("it ends in %s", left)
		}
		other := h.approvalToken(g, `{"for":"bob"}`)
		if other.Token == made.Token {
			t.Fatal("two tokens are the same")
		}
		body := fmt.Sprintf(`{"verdict":%q,"reason":"seen"}`, verdict)
		var a TokenDecision
		first := h.byToken(g.ID, made.Token, body).want(http.StatusOK)
		if first.into(&a); strings.Contains(string(first.body), "refund") {
			t.Errorf("the answer tells of the thread: %s", first.body)
		}
		sum := posthouse.Hash(sha256.Sum256([]byte(made.Token)))
		if d := a.Decision; d == nil || d.Verdict != verdict || d.By != "alice" || d.Actor != "operator-token" || d.Reason != "seen" || d.Shown != g.Hash || d.Token != sum {
			t.Errorf("decided %+v", a.Decision)
		}
		again, err := h.ledger.Gate(t.Context(), g.ID)
		must.Do(t, err)
		if again.Decision == nil || again.Decision.Token != sum || again.Decision.Actor != "operator-token" {
			t.Errorf("on record: %+v", again.Decision)
		}
		if head := h.run(thread); head.Status != posthouse.StatusDone || h.program.count() != i+1 {
			t.Errorf("the thread is %s after %d effects", head.Status, h.program.count())
		}
		for _, body := range []string{body, `{"verdict":"reject"}`, `{"verdict":"approve"}`} {
			if p := h.byToken(g.ID, made.Token, body).refused(posthouse.CodeDecided); p.Decision == nil || p.Decision.Verdict != verdict || p.Decision.Reason != "seen" {
				t.Errorf("a second use is told %+v", p.Decision)
			}
		}
		// Who holds another token learns what was decided, and not the words.
		if p := h.byToken(g.ID, other.Token, body).refused(posthouse.CodeDecided); p.Decision == nil || p.Decision.By != "alice" || p.Decision.Reason != "" || !p.Decision.Shown.IsZero() {
			t.Errorf("another token is told %+v", p.Decision)
		}
		if h.run(thread); h.program.count() != i+1 {
			t.Errorf("there were %d effects", h.program.count())
		}
	}
}

func TestApprovalTokenOpensNothingElse(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	token := h.approvalToken(g, "").Token
	for _, r := range h.server.routes {
		if r.Role == "" {
			continue
		}
		a := h.send(ask{method: r.Method, path: strings.Replace(example(r), "some-id", string(g.ID), 1), as: "-", header: []string{"Authorization: Bearer " + token}})
		if a.status != http.StatusUnauthorized {
			t.Errorf("%s %s answers %d", r.Method, r.Path, a.status)
		}
	}
	h.send(ask{method: "POST", path: "/login", as: "-", body: "token=" + token, header: []string{"Content-Type: application/x-www-form-urlencoded"}}).want(http.StatusUnauthorized)
	// Nor does anything else decide there.
	_, free := h.waiting("t2")
	h.refusedToken(free.ID, h.secrets[tokens.Operator])
	h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/decide-by-token?token=" + token, as: "-", body: `{"verdict":"approve"}`}).refused(posthouse.CodeInvalid)
	if got, err := h.ledger.Gate(t.Context(), g.ID); err != nil || got.Decision != nil {
		t.Errorf("the gate is %+v, %v", got, err)
	}
}

// TestUnusableApprovalTokens sends tokens that do not count, for whatever reason:
// all get the same answer, whether the gate exists or not.
func TestUnusableApprovalTokens(t *testing.T) {
	clock := newTestClock()
	h := open(t, func(o *Options) { o.Now = clock.now })
	_, g := h.waiting("t1")
	_, other := h.waiting("t2")
	token := h.approvalToken(g, `{"for":"alice"}`).Token
	for _, bad := range []string{
		tokens.NewApproval(), "", strings.ToUpper(token), token[:63], token + "0", "x" + token[1:], strings.Repeat("0", 64),
	} {
		h.refusedToken(g.ID, bad)
	}
	h.refusedToken(other.ID, token)
	h.refusedToken("gate-unknown", token)
	beside := posthouse.Gate{Name: "refund"} // in the same slot
	for i := 0; beside.ID == "" || gateTokenSlot(beside.ID) != gateTokenSlot(g.ID); i++ {
		beside.ID = posthouse.ID(fmt.Sprint("gate-", i))
	}
	h.asking("t3", beside)
	h.approvalToken(&beside, `{"for":"alice"}`)
	h.refusedToken(beside.ID, token)
	h.byToken(g.ID, token, "{}").refused(posthouse.CodeInvalid) // it is still good where it was made for
	renewed := h.approvalToken(g, `{"for":"alice"}`).Token
	h.refusedToken(g.ID, token)

	clock.add(maxGateToken - time.Second)
	h.byToken(g.ID, renewed, `{"verdict":"edit"}`).refused(posthouse.CodeInvalid) // it is still good
	clock.add(time.Second)
	h.refusedToken(g.ID, renewed)

	// Those of an access token end with it.
	_, err := h.tokens.Create("carol", tokens.Approver, nil)
	must.Do(t, err)
	all, err := h.tokens.All()
	must.Do(t, err)
	for _, x := range all {
		if x.Name == "carol" {
			must.Do(t, resourceOf[*approvalTokens](h).keep(t.Context(), gateToken{
				Gate: g.ID, Hash: sha256.Sum256([]byte(token)), For: "carol", Maker: makerOf(x), Shown: g.Hash,
				Verdicts: []posthouse.Verdict{posthouse.Approve}, Until: posthouse.Millis(clock.now().Add(time.Hour).UnixMilli()),
			}))
		}
	}
	h.byToken(g.ID, token, `{"verdict":"reject"}`).refused(posthouse.CodeInvalid)
	must.Do(t, h.tokens.Revoke("carol", nil))
	h.refusedToken(g.ID, token)
	_, err = h.tokens.Create("carol", tokens.Approver, nil)
	must.Do(t, err)
	h.refusedToken(g.ID, token)
	if n := h.program.count(); n != 0 {
		t.Errorf("there were %d effects", n)
	}
}

func TestApprovalTokenEnds(t *testing.T) {
	clock := newTestClock()
	h := open(t, func(o *Options) { o.Now = clock.now })
	deadline := clock.now().Add(time.Hour).Truncate(time.Millisecond).UTC()
	g := h.asking("t1", posthouse.Gate{ExpiresAt: deadline})
	path := "/api/gates/" + string(g.ID) + "/token"
	made := h.approvalToken(g, "")
	if !made.ExpiresAt.Equal(deadline) {
		t.Errorf("it ends at %s, the gate at %s", made.ExpiresAt, deadline)
	}
	for _, at := range []time.Time{{}, clock.now(), deadline.Add(time.Millisecond)} {
		body, err := json.Marshal(map[string]any{"expiresAt": at})
		must.Do(t, err)
		if p := h.post(path, string(body)).refused(posthouse.CodeInvalid); p.Field != "expiresAt" {
			t.Errorf("%s: %+v", body, p)
		}
	}
	soon := h.approvalToken(g, fmt.Sprintf(`{"for":"bob","expiresAt":%q}`, clock.now().Add(time.Minute).Format(time.RFC3339Nano)))
	clock.add(time.Minute)
	h.refusedToken(g.ID, soon.Token)
	clock.add(time.Hour)
	h.refusedToken(g.ID, made.Token)
	h.post(path, "").refused(posthouse.CodeExpired)
	if got, err := h.ledger.Gate(t.Context(), g.ID); err != nil || got.Decision != nil {
		t.Errorf("the gate is %+v, %v", got, err)
	}
}

// TestApprovalTokenEndsWithItsAccess: an access token that ends sooner takes along what
// it made.
func TestApprovalTokenEndsWithItsAccess(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	end := time.Now().Add(30 * time.Minute).UTC().Truncate(time.Second)
	access, err := h.tokens.Create("carol", tokens.Approver, &tokens.CreateOptions{ExpiresAt: end})
	must.Do(t, err)
	var made GateToken
	h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/token", as: "-", header: []string{"Authorization: Bearer " + access}}).want(http.StatusOK).into(&made)
	if made.For != "carol" || !made.ExpiresAt.Equal(end) {
		t.Errorf("made %+v, the access ends at %s", made, end)
	}
}

// TestApprovalTokensKeepTheRules makes and uses tokens where the rules of the gate say
// no.
func TestApprovalTokensKeepTheRules(t *testing.T) {
	h := open(t, nil)
	mint := func(g *posthouse.Gate, body string, as tokens.Role) *reply {
		return h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/token", body: body, as: as})
	}
	approve := `{"verdict":"approve"}`
	_, g := h.waiting("plain")
	mint(g, "", tokens.Viewer).refused(posthouse.CodeForbidden)
	mint(g, "", tokens.Worker).refused(posthouse.CodeForbidden)
	mint(g, `{"for":"alice"}`, tokens.Approver).refused(posthouse.CodeForbidden)
	for _, body := range []string{`{"verdicts":["cancel"]}`, `{"verdicts":["nonsense"]}`, `{"for":"posthouse"}`, `{"for":" alice"}`, `{"to":"alice"}`} {
		mint(g, body, tokens.Operator).refused(posthouse.CodeInvalid)
	}
	var own GateToken
	mint(g, `{"verdicts":["edit","edit"]}`, tokens.Approver).want(http.StatusOK).into(&own)
	h.byToken(g.ID, own.Token, approve).refused(posthouse.CodeInvalid)
	h.byToken(g.ID, own.Token, `{"verdict":"cancel"}`).refused(posthouse.CodeInvalid)
	h.byToken(g.ID, own.Token, `{"verdict":"edit"}`).refused(posthouse.CodeInvalid)
	var a TokenDecision
	h.byToken(g.ID, own.Token, `{"verdict":"edit","value":{"request":"less"}}`).want(http.StatusOK).into(&a)
	if d := a.Decision; d.By != "approver-token" || d.Actor != "" || d.Token.IsZero() || string(d.Value) != `{"request":"less"}` {
		t.Errorf("decided %+v", d)
	}
	mint(g, "", tokens.Operator).refused(posthouse.CodeDecided)

	assigned := h.asking("assigned", posthouse.Gate{Assignees: []string{"alice"}})
	mint(assigned, `{"for":"mallory"}`, tokens.Operator).refused(posthouse.CodeForbidden)
	alice := h.approvalToken(assigned, `{"for":"alice"}`)
	h.post("/api/gates/"+string(assigned.ID)+"/delegate", `{"to":"bob","by":"alice"}`).want(http.StatusOK)
	h.byToken(assigned.ID, alice.Token, approve).refused(posthouse.CodeForbidden)
	bob := h.approvalToken(assigned, `{"for":"bob"}`)
	h.byToken(assigned.ID, bob.Token, approve).want(http.StatusOK).into(&a)
	if a.Decision.By != "bob" || a.Decision.For != "alice" {
		t.Errorf("decided %+v", a.Decision)
	}

	requested := h.asking("requested", posthouse.Gate{RequestedBy: "operator-token"})
	mint(requested, `{"for":"alice"}`, tokens.Operator).refused(posthouse.CodeForbidden)
	mint(requested, `{"for":"alice","verdicts":["reject"]}`, tokens.Operator).want(http.StatusOK)

	text := h.asking("text", posthouse.Gate{Verdicts: []posthouse.Verdict{posthouse.Respond}})
	mint(text, "", tokens.Operator).refused(posthouse.CodeInvalid)
	mint(text, `{"verdicts":["approve"]}`, tokens.Operator).refused(posthouse.CodeInvalid)
	mint(text, `{"verdicts":["respond"]}`, tokens.Operator).want(http.StatusOK)

	timer := h.asking("timer", posthouse.Gate{Name: "nap", Kind: posthouse.GateTimer, ExpiresAt: time.Now().Add(time.Hour)})
	mint(timer, "", tokens.Operator).refused(posthouse.CodeForbidden)
}

// TestApprovalTokensVote: tokens that one operator made are one hand, however many names
// they are for.
func TestApprovalTokensVote(t *testing.T) {
	h := open(t, nil)
	g := h.asking("t1", posthouse.Gate{Quorum: &posthouse.Quorum{Need: 2}})
	alice, bob := h.approvalToken(g, `{"for":"alice"}`), h.approvalToken(g, `{"for":"bob"}`)
	var a TokenDecision
	h.byToken(g.ID, alice.Token, `{"verdict":"approve"}`).want(http.StatusOK).into(&a)
	if a.Vote == nil || a.Vote.By != "alice" || a.Vote.Token.IsZero() || a.Missing != 1 || a.Decision != nil {
		t.Errorf("after one vote: %+v", a)
	}
	if p := h.byToken(g.ID, alice.Token, `{"verdict":"approve"}`).refused(posthouse.CodeVoted); p.Decision == nil || p.Decision.By != "alice" {
		t.Errorf("a second use is told %+v", p.Decision)
	}
	h.byToken(g.ID, bob.Token, `{"verdict":"approve"}`).refused(posthouse.CodeVoted)
	h.post("/api/gates/"+string(g.ID)+"/token", `{"for":"carol"}`).refused(posthouse.CodeVoted)
	var own GateToken
	h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/token", as: tokens.Approver}).want(http.StatusOK).into(&own)
	a = TokenDecision{}
	h.byToken(g.ID, own.Token, `{"verdict":"approve"}`).want(http.StatusOK).into(&a)
	if a.Decision == nil || a.Decision.Verdict != posthouse.Approve || a.Vote != nil {
		t.Errorf("after two votes: %+v", a)
	}
}

// TestApprovalTokenShows what was asked before, the votes without their words, and what the token may give.
func TestApprovalTokenShows(t *testing.T) {
	h := open(t, nil)
	old := h.asking("t1", posthouse.Gate{Name: "refund", Payload: json.RawMessage(`{"amount":40}`)})
	c := must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch",
	}, Gates: []posthouse.Gate{{Name: "refund", Payload: json.RawMessage(`{"amount":4000}`), Supersedes: old.ID, Quorum: &posthouse.Quorum{Need: 2}}}}))(t)
	g := &c.Gates[0]
	token := h.approvalToken(g, `{"for":"alice"}`).Token
	look := func() (shown TokenGate) {
		h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/by-token", as: "-", header: []string{"Authorization: Bearer " + token}}).want(http.StatusOK).into(&shown)
		return shown
	}
	shown := look()
	if b := shown.Before; b == nil || !b.Changed || len(b.Paths) != 1 || b.Paths[0].Path != "/amount" || string(b.Payload) != `{"amount":40}` {
		t.Errorf("before it was %+v", shown.Before)
	}
	if left := time.Until(shown.ExpiresAt); left < 6*24*time.Hour || left > 7*24*time.Hour {
		t.Errorf("it says that it ends in %v; want a week, since its gate has no deadline", left)
	}
	if len(shown.May) != 2 || shown.Barred != "" || shown.State != inbox.Open || shown.Quorum == nil {
		t.Errorf("its holder sees %+v", shown)
	}
	h.byToken(g.ID, token, `{"verdict":"approve","shown":"`+old.Hash.String()+`"}`).refused(posthouse.CodeConflict)
	if len(look().Votes) != 0 {
		t.Fatal("it voted about what was not on the screen")
	}
	h.byToken(g.ID, token, `{"verdict":"approve","reason":"seen","shown":"`+g.Hash.String()+`"}`).want(http.StatusOK)
	shown = look()
	if len(shown.Votes) != 1 || shown.Votes[0].By != "alice" || len(shown.May) != 0 || !strings.Contains(shown.Barred, "has voted") {
		t.Errorf("after a vote its holder sees %+v", shown)
	}

	for i, g := range []posthouse.Gate{
		{Name: "pay>outcome", Kind: gate.KindOutcome, Verdicts: posthouse.SettleVerdicts(), Record: posthouse.GateRecord{Settles: true}},
		{Name: "pay>outcome", Kind: gate.KindOutcome, Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Respond}}, // of an earlier version
	} {
		outcome := h.asking(fmt.Sprint("unknown", i), g)
		made := h.approvalToken(outcome, `{"for":"alice"}`)
		if !slices.Equal(made.Verdicts, []posthouse.Verdict{posthouse.Happened, posthouse.GiveUp}) {
			t.Errorf("of an unknown outcome it gives %v", made.Verdicts)
		}
		h.byToken(outcome.ID, made.Token, `{"verdict":"redo"}`).refused(posthouse.CodeForbidden)
		h.byToken(outcome.ID, made.Token, `{"verdict":"approve"}`).refused(posthouse.CodeConflict)
		h.byToken(outcome.ID, made.Token, `{"verdict":"give-up"}`).want(http.StatusOK)
	}
}

// TestApprovalTokenForWhatChanged: a token does not decide what is asked in the place of
// what it was made for.
func TestApprovalTokenForWhatChanged(t *testing.T) {
	h := open(t, nil)
	g := h.asking("t1", posthouse.Gate{Name: "refund", Payload: json.RawMessage(`{"amount":40}`)})
	token := h.approvalToken(g, `{"for":"alice"}`).Token
	c, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch",
	}, Gates: []posthouse.Gate{{Name: "refund", Payload: json.RawMessage(`{"amount":4000}`), Supersedes: g.ID}}})
	must.Do(t, err)
	h.refusedToken(c.Gates[0].ID, token)
	p := h.byToken(g.ID, token, `{"verdict":"approve"}`).refused(posthouse.CodeConflict)
	if p.Decision == nil || p.Decision.Verdict != posthouse.Cancel {
		t.Errorf("told %+v", p.Decision)
	}
	// Were the entry another one, the decision would not count either.
	fresh := c.Gates[0]
	all, revision, err := resourceOf[*approvalTokens](h).beside(t.Context(), g.ID)
	must.Do(t, err)
	moved := all[0]
	moved.Gate = fresh.ID
	must.Do(t, resourceOf[*approvalTokens](h).keep(t.Context(), moved))
	h.byToken(fresh.ID, token, `{"verdict":"approve"}`).refused(posthouse.CodeConflict)
	if revision == 0 || moved.Shown != g.Hash {
		t.Errorf("it was kept as %+v", moved)
	}
}

func TestApprovalTokenRaces(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	token := h.approvalToken(g, `{"for":"alice"}`).Token
	statuses := make([]int, 50)
	var wg sync.WaitGroup
	for i := range statuses {
		r := h.request(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/decide-by-token", as: "-", body: `{"verdict":"approve"}`, header: []string{"Authorization: Bearer " + token}})
		wg.Go(func() {
			resp, err := h.http.Client().Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			statuses[i] = resp.StatusCode
		})
	}
	wg.Wait()
	won := 0
	for _, status := range statuses {
		switch status {
		case http.StatusOK:
			won++
		case http.StatusConflict:
		default:
			t.Errorf("answered %d", status)
		}
	}
	if h.run("t1"); won != 1 || h.program.count() != 1 {
		t.Errorf("%d won, with %d effects", won, h.program.count())
	}
	// Tokens that are made at once are all kept.
	_, g = h.waiting("t2")
	made := make([]string, 20)
	for i := range made {
		wg.Go(func() { made[i] = h.approvalToken(g, fmt.Sprintf(`{"for":"person-%d"}`, i)).Token })
	}
	wg.Wait()
	for _, token := range made {
		h.byToken(g.ID, token, `{"verdict":"nonsense"}`).refused(posthouse.CodeInvalid)
	}
}

func TestApprovalTokenBodies(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	token := h.approvalToken(g, "").Token
	for _, bad := range []string{`{`, `[]`, `null`, ``, `{}`, `{"verdict":"approve","verdict":"reject"}`, `{"Verdict":"approve"}`, `{"verdict":"approve","by":"bob"}`,
		`{"verdict":"approve","value":1}`, `{"verdict":"approve","reason":"` + strings.Repeat("a", 4001) + `"}`} {
		h.byToken(g.ID, token, bad).refused(posthouse.CodeInvalid)
	}
	send := func(body, media string) *reply {
		return h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/decide-by-token", as: "-", body: body, header: []string{"Authorization: Bearer " + token, "Content-Type: " + media}})
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
		send(`{"verdict":"approve"}`, media).refused(problem.CodeMediaType)
	}
	send(`{"verdict":"approve","reason":"`+strings.Repeat("a", int(h.server.router.state))+`"}`, "application/json").refused(posthouse.CodeTooLarge)
	if got, err := h.ledger.Gate(t.Context(), g.ID); err != nil || got.Decision != nil {
		t.Errorf("the gate is %+v, %v", got, err)
	}
}

// TestApprovalTokenIsKeptAsAHash looks for the token in the store and the log, and uses
// it at a server that starts over the store.
func TestApprovalTokenIsKeptAsAHash(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	token := h.approvalToken(g, `{"for":"alice"}`).Token
	again, err := New(Options{Ledger: h.ledger, Tokens: h.tokens})
	must.Do(t, err)
	r := httptest.NewRequest("POST", "http://localhost/api/gates/"+string(g.ID)+"/decide-by-token", strings.NewReader(`{"verdict":"approve"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	if again.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("it answers %d: %s", w.Code, w.Body)
	}
	must.Do(t, again.Close(t.Context()))
	h.byToken(g.ID, token, `{"verdict":"approve"}`).refused(posthouse.CodeDecided)
	seen := 0
	for item, err := range h.store.Slots(t.Context(), gateTokens) {
		must.Do(t, err)
		if seen++; strings.Contains(string(item.Value), token) || !strings.Contains(string(item.Value), `"alice"`) {
			t.Errorf("the slot has %s", item.Value)
		}
	}
	g, err = h.ledger.Gate(t.Context(), g.ID)
	must.Do(t, err)
	record, err := json.Marshal(g)
	must.Do(t, err)
	if seen != 1 || strings.Contains(string(record), token) || strings.Contains(h.log.String(), token) {
		t.Errorf("of %d slots, the record %s or the log has it", seen, record)
	}
	if !strings.Contains(h.log.String(), `"route":"/api/gates/{id}/decide-by-token","status":409`) || !strings.Contains(h.log.String(), `"actor":"alice"`) {
		t.Errorf("the log has %s", h.log.String())
	}
}

func TestApprovalTokensAreBounded(t *testing.T) {
	clock := newTestClock()
	h := open(t, func(o *Options) { o.Now = clock.now })
	_, g := h.waiting("t1")
	for i := range gateTokensOfSlot {
		must.Do(t, resourceOf[*approvalTokens](h).keep(t.Context(), gateToken{Gate: g.ID, For: fmt.Sprint(i), Until: posthouse.Millis(clock.now().Add(time.Hour).UnixMilli())}))
	}
	h.post("/api/gates/"+string(g.ID)+"/token", "").refused(problem.CodeTooMany)
	clock.add(time.Hour)
	h.approvalToken(g, "")
	if all, _, err := resourceOf[*approvalTokens](h).beside(t.Context(), g.ID); err != nil || len(all) != 1 {
		t.Errorf("%d are left, %v", len(all), err)
	}
}

// Tokens of decided gates, and of gates that are gone, keep no room from others.
func TestTokensOfDecidedGatesMakeRoom(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	_, decided := h.waiting("t1")
	_, g := h.waiting("t2")
	h.post("/api/gates/"+string(decided.ID)+"/approve", "")
	until := posthouse.Millis(time.Now().Add(time.Hour).UnixMilli())
	all := []gateToken{{Gate: g.ID, For: "bob", Until: until}}
	for i := range gateTokensOfSlot {
		of := decided.ID
		if i%2 == 0 {
			of = posthouse.ID(fmt.Sprint("gone-", i))
		}
		all = append(all, gateToken{Gate: of, For: fmt.Sprint(i), Until: until})
	}
	value := must.Get(json.Marshal(all))(t)
	must.Get(h.store.Slot(t.Context(), gateTokenSlot(g.ID), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: posthouse.AnyRevision}))(t)
	h.approvalToken(g, "")
	if all, _, err := resourceOf[*approvalTokens](h).beside(t.Context(), g.ID); err != nil || len(all) != 2 {
		t.Errorf("%d are left, %v, want bob's and the new one", len(all), err)
	}
}
