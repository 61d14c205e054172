package server

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/proof"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// signed opens a server with a signing key.
func signed(t *testing.T, wrap func(posthouse.Store) posthouse.Store) (*testServer, *sign.Ring) {
	path := filepath.Join(t.TempDir(), "signing.key")
	key := must.Get(sign.LoadOrCreate(path))(t)
	ring := must.Get(sign.LoadRing(path + sign.PublicSuffix))(t)
	var signed *ledger.Ledger
	h := open(t, func(o *Options) {
		unsigned := o.Ledger
		t.Cleanup(func() { must.Do(t, unsigned.Close()) })
		store := unsigned.Store()
		if wrap != nil {
			store = wrap(store)
		}
		o.Ledger = must.Get(ledger.Open(store, &ledger.Options{Validate: gate.Validator(), Signer: key}))(t)
		signed = o.Ledger
		o.PublicKeys = func() (*sign.Ring, error) { return sign.LoadRing(path + sign.PublicSuffix) }
	})
	h.ledger = signed
	return h, ring
}

// ended waits for a verification.
func (h *testServer) ended(id posthouse.ID) (v proof.Verification) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	for {
		h.get("/api/verifications/" + string(id)).want(http.StatusOK).into(&v)
		if v.State != proof.Running {
			return v
		}
		if ctx.Err() != nil {
			h.t.Fatalf("verification %s does not end: %+v", id, v)
		}
	}
}

// TestVerificationIsAJob begins one, follows it, and reads its report.
func TestVerificationIsAJob(t *testing.T) {
	h, _ := signed(t, nil)
	for _, thread := range []string{"t1", "t2"} {
		h.saved(thread, `"a"`)
	}
	var v proof.Verification
	a := h.post("/api/verifications", `{"allowUnsigned":true}`).want(http.StatusAccepted)
	a.into(&v)
	if v.State != proof.Running || v.By != "operator-token" || a.header.Get("Location") != "/api/verifications/"+string(v.ID) {
		t.Errorf("it begins as %+v at %q", v, a.header.Get("Location"))
	}
	v = h.ended(v.ID)
	if v.State != proof.Done || !v.OK || v.Report == nil || v.Report.Threads != 2 || v.Threads != 2 || v.Ended == nil || v.Entries != v.Report.Entries {
		t.Errorf("it ends as %+v with %+v", v, v.Report)
	}
	var all []proof.Verification
	h.get("/api/verifications").want(http.StatusOK).into(&all)
	if len(all) != 1 || all[0].Report != nil || all[0].State != proof.Done {
		t.Errorf("the list has %+v", all)
	}
	h.send(ask{method: "DELETE", path: "/api/verifications/" + string(v.ID)}).want(http.StatusOK)
	h.get("/api/verifications/other").refused(posthouse.CodeNotFound)
	h.post("/api/verifications", `{"thread":"nothing"}`).refused(posthouse.CodeNotFound)
	h.post("/api/verifications", `{"thread":"t1","allowUnsigned":true}`).want(http.StatusAccepted).into(&v)
	v = h.ended(v.ID)
	if v.Report == nil || v.Report.Threads != 1 {
		t.Errorf("of one thread it ends as %+v", v)
	}
	h.send(ask{method: "POST", path: "/api/verifications", as: tokens.Approver}).refused(posthouse.CodeForbidden)
}

// TestVerificationSaysWhatCameLater counts entries of known and new threads after it.
func TestVerificationSaysWhatCameLater(t *testing.T) {
	h, _ := signed(t, nil)
	h.saved("t1", `"a"`)
	h.saved("t2", `"a"`)
	var v proof.Verification
	h.post("/api/verifications", `{"allowUnsigned":true}`).want(http.StatusAccepted).into(&v)
	v = h.ended(v.ID)
	since := func() (s proof.Since) {
		h.send(ask{method: "GET", path: "/api/verifications/" + string(v.ID) + "/since", as: tokens.Viewer}).want(http.StatusOK).into(&s)
		return s
	}
	if s := since(); s != (proof.Since{}) {
		t.Errorf("nothing came, and it counts %+v", s)
	}
	h.saved("t1", `"b"`)
	h.saved("t1", `"c"`)
	h.saved("t3", `"a"`)
	if s, want := since(), (proof.Since{Threads: 2, New: 1, Entries: 3}); s != want {
		t.Errorf("it counts %+v, want %+v", s, want)
	}
}

// TestFaultsAreInPages has a report with the first faults and their number, and pages of a kind.
func TestFaultsAreInPages(t *testing.T) {
	h := open(t, nil)
	const n = 120
	for i := range n {
		must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t" + strconv.Itoa(i), Steps: []posthouse.Step{
			{Task: "t", Name: "pay", Effect: posthouse.EffectExternal, Value: posthouse.Value{Data: []byte("1")}},
		}, Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}}))(t)
	}
	var v proof.Verification
	h.post("/api/verifications", `{"requireGrants":true}`).want(http.StatusAccepted).into(&v)
	v = h.ended(v.ID)
	if len(v.Report.Faults) != 100 || len(v.Report.Ungranted) > 100 || len(v.Faults) != 1 || v.Faults[0].Kind != sign.FaultGrant || v.Faults[0].Count != n {
		t.Errorf("it lists %d faults, %d effects, and counts %+v", len(v.Report.Faults), len(v.Report.Ungranted), v.Faults)
	}
	path := "/api/verifications/" + string(v.ID) + "/faults?limit=50&kind="
	seen := map[string]bool{}
	for cursor, done := "", false; !done; done = cursor == "" {
		var page struct {
			Items []sign.Fault
			Next  string
		}
		must.Do(t, json.Unmarshal(h.get(path+"grant&cursor="+cursor).want(http.StatusOK).body, &page))
		for _, f := range page.Items {
			seen[f.Thread] = true
		}
		cursor = page.Next
	}
	if len(seen) != n {
		t.Errorf("the pages have %d threads, want %d", len(seen), n)
	}
	var other []sign.Fault
	h.get(path + "hash").want(http.StatusOK).into(&other)
	if len(other) != 0 {
		t.Errorf("of another kind it has %+v", other)
	}
	h.get(path + "grant&cursor=x").refused(posthouse.CodeInvalid)
	h.get("/api/verifications/other/faults").refused(posthouse.CodeNotFound)
}

// TestOneVerificationAtATime begins a second one while a store holds the first one back.
func TestOneVerificationAtATime(t *testing.T) {
	held := &heldStore{gate: make(chan struct{})}
	h, _ := signed(t, func(s posthouse.Store) posthouse.Store { held.Store = s; return held })
	h.saved("t1", `"a"`)
	held.armed.Store(true)
	var v proof.Verification
	h.post("/api/verifications", "{}").want(http.StatusAccepted).into(&v)
	e := h.post("/api/verifications", "{}").refused(posthouse.CodeBusy)
	if !strings.Contains(e.Detail, string(v.ID)) {
		t.Errorf("the second is refused with %q", e.Detail)
	}
	h.send(ask{method: "DELETE", path: "/api/verifications/" + string(v.ID)}).want(http.StatusOK)
	close(held.gate)
	v = h.ended(v.ID)
	if v.State != proof.Cancelled || v.Report != nil {
		t.Errorf("cancelled it ends as %+v", v)
	}
	h.post("/api/verifications", "{}").want(http.StatusAccepted).into(&v)
	h.ended(v.ID)
}

// A heldStore holds lists of threads back while it is armed.
type heldStore struct {
	posthouse.Store
	armed atomic.Bool
	gate  chan struct{}
}

func (s *heldStore) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	if s.armed.Load() {
		<-s.gate
	}
	return s.Store.Threads(ctx, q)
}

// TestKeysWitnessAndExportProveTheStore takes all three, and checks them as one would offline.
func TestKeysWitnessAndExportProveTheStore(t *testing.T) {
	h, ring := signed(t, nil)
	h.saved("t1", `"a secret"`)
	var keys []proof.Key
	h.send(ask{method: "GET", path: "/api/keys", as: tokens.Viewer}).want(http.StatusOK).into(&keys)
	if len(keys) != 1 || !keys[0].Signs || keys[0].ID != ring.Keys()[0].ID || !strings.Contains(keys[0].PEM, "PUBLIC KEY") {
		t.Errorf("the keys are %+v", keys)
	}
	a := h.get("/api/witness").want(http.StatusOK)
	head := must.Get(statement.ParseHead(a.body, ring))(t)
	if len(head.Threads) != 1 || head.Threads[0].Thread != "t1" {
		t.Errorf("the witness saw %+v", head.Threads)
	}
	file := h.get("/api/threads/t1/export").want(http.StatusOK)
	store := memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	must.Get(transfer.Import(t.Context(), l, bytes.NewReader(file.body), &transfer.ImportOptions{Check: ring.ImportCheck()}))(t)
	report := must.Get(sign.Verify(t.Context(), store, ring, &sign.VerifyOptions{Witness: head}))(t)
	if !report.OK() || report.Witnessed != 1 {
		t.Errorf("what was exported verifies as %+v", report)
	}
	must.Do(t, l.Close())
	must.Do(t, store.Close())
	h.get("/api/threads/nothing/export").refused(posthouse.CodeNotFound)
	for _, path := range []string{"/api/witness", "/api/threads/t1/export"} {
		h.send(ask{method: "GET", path: path, as: tokens.Approver}).refused(posthouse.CodeForbidden)
	}
}

// TestEntryIsShownAsStored computes an entry's hash from what the route gives, and checks the signature.
func TestEntryIsShownAsStored(t *testing.T) {
	h, ring := signed(t, nil)
	h.saved("t1", `"a"`)
	h.saved("t1", `"b"`)
	h.post("/api/threads/t1/releases", "{}").want(http.StatusOK)
	var e proof.Entry
	h.get("/api/threads/t1/entries/1").want(http.StatusOK).into(&e)
	stored := posthouse.Entry{Thread: e.Thread, Generation: e.Generation, Seq: e.Seq, Prev: e.Prev, Header: e.Header, Hash: e.Hash, Sig: e.Signature}
	for _, r := range e.Records {
		stored.Bodies = append(stored.Bodies, r.Body)
	}
	must.Do(t, stored.Check())
	if e.At == nil || e.Size <= len(e.Header) || len(e.Next) == 0 {
		t.Fatalf("the entry is shown as %+v", e)
	}
	signed := e.Next[len(e.Next)-1]
	if len(signed.Signature) == 0 {
		t.Fatalf("what follows it is %+v", e.Next)
	}
	id := string(signed.Signature[1 : 1+signed.Signature[0]])
	key, ok := ring.Key(id)
	message := append([]byte("\x15posthouse/signature/1\x20"), signed.Hash[:]...)
	if !ok || !key.Verify(message, signed.Signature[1+len(id):]) {
		t.Errorf("the signature by %q does not verify", id)
	}
	var second proof.Entry
	h.get("/api/threads/t1/entries/2").want(http.StatusOK).into(&second)
	if link := stored.Link(); second.Prev != link {
		t.Errorf("the second continues %s, and the first is %s", second.Prev, link)
	}
	h.get("/api/threads/t1/entries/9").refused(posthouse.CodeNotFound)
	h.get("/api/threads/other/entries/1").refused(posthouse.CodeNotFound)
	h.get("/api/threads/t1/entries/0").refused(posthouse.CodeInvalid)
	h.get("/api/threads/t1/entries/x").refused(posthouse.CodeInvalid)
}

// TestVerifyAgainstAWitness: a store is compared with a witness of an earlier time, and one that was put
// back has a fault. A witness that was changed, or that no key here signed, is refused by its name.
func TestVerifyAgainstAWitness(t *testing.T) {
	h, _ := signed(t, nil)
	h.saved("t1", `"a"`)
	h.saved("t2", `"b"`)
	witness := string(h.get("/api/witness").want(http.StatusOK).body)
	body := func(witness string) string {
		return string(must.Get(json.Marshal(map[string]any{"allowUnsigned": true, "witness": witness}))(t))
	}
	var v proof.Verification
	h.post("/api/verifications", body(witness)).want(http.StatusAccepted).into(&v)
	v = h.ended(v.ID)
	if !v.OK || v.Witness == nil || v.Witness.Threads != 2 || v.Report.Witnessed != 2 || v.Witness.Key == "" {
		t.Errorf("it ends as %+v of %+v with %+v", v, v.Witness, v.Report)
	}
	other, _ := signed(t, nil)
	other.saved("t1", `"a"`)
	for text, code := range map[string]posthouse.Code{
		"{":                                    posthouse.CodeInvalid,
		strings.Replace(witness, "a", "b", 1):  posthouse.CodeInvalid,
		string(other.get("/api/witness").body): posthouse.CodeForbidden,
		"hello":                                posthouse.CodeInvalid,
	} {
		if p := h.post("/api/verifications", body(text)).refused(code); p.Field != "witness" || p.Hint == "" {
			t.Errorf("%.40s is refused for %q: %s %s", text, p.Field, p.Detail, p.Hint)
		}
	}
}
