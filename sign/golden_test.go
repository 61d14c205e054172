package sign_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

var update = flag.Bool("update", false, "write testdata/thread.json and the example in docs/format.md anew")

const goldenPath = "testdata/thread.json"

// A goldenFile is a thread as format 1 has it, kept for ever: every later
// version must verify it and rebuild its states. Bytes are base64.
type goldenFile struct {
	Thread    string         `json:"thread"`
	PublicKey []byte         `json:"publicKey"` // SubjectPublicKeyInfo
	Entries   []goldenEntry  `json:"entries"`
	States    []*goldenState `json:"states"` // of every kept checkpoint
}

type goldenEntry struct {
	Generation uint32   `json:"generation"`
	Seq        uint64   `json:"seq"`
	Prev       []byte   `json:"prev"`
	Header     []byte   `json:"header"`
	Hash       []byte   `json:"hash"`
	Sig        []byte   `json:"sig,omitempty"`
	Bodies     [][]byte `json:"bodies"`
}

type goldenState struct {
	ID       string                `json:"id"`
	Seq      uint64                `json:"seq"`
	Header   json.RawMessage       `json:"header"`
	State    map[string]goldenPart `json:"state"`
	Metadata map[string]string     `json:"metadata,omitempty"`
}

type goldenPart struct {
	Codec  string `json:"codec"`
	Size   int    `json:"size"`
	SHA256 []byte `json:"sha256"`
}

func goldenParts(s posthouse.State) map[string]goldenPart {
	parts := map[string]goldenPart{}
	for name, v := range s {
		sum := sha256.Sum256(v.Data)
		parts[name] = goldenPart{v.Codec, len(v.Data), sum[:]}
	}
	return parts
}

func goldenKey(t testing.TB) *sign.Key {
	t.Helper()
	return keyOf(t, bytes.Repeat([]byte{0x50}, ed25519.SeedSize))
}

// keyOf returns the key of a seed.
func keyOf(t testing.TB, seed []byte) *sign.Key {
	t.Helper()
	der := must.Get(x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed)))(t)
	return must.Get(sign.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))(t)
}

func readGolden(t testing.TB) *goldenFile {
	t.Helper()
	g := &goldenFile{}
	if err := json.Unmarshal(must.Get(os.ReadFile(goldenPath))(t), g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGoldenIsWritten writes the golden file, when asked.
func TestGoldenIsWritten(t *testing.T) {
	if !*update {
		return
	}
	key, store := goldenKey(t), memstore.New()
	l := openLedger(t, store, key, newClock().Now)
	goldenThread(t, l)
	g := goldenOf(t, l, store, key)
	data := must.Get(json.MarshalIndent(g, "", "\t"))(t)
	if err := os.MkdirAll(filepath.Dir(goldenPath), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenPath, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goldenOf returns what a golden file says of a store's golden thread.
func goldenOf(t testing.TB, l *ledger.Ledger, store posthouse.Store, key *sign.Key) *goldenFile {
	t.Helper()
	g := &goldenFile{Thread: "order-7", PublicKey: must.Get(x509.MarshalPKIXPublicKey(key.Public().Key))(t)}
	for _, e := range readAll(store, g.Thread) {
		g.Entries = append(g.Entries, goldenEntry{e.Generation, e.Seq, e.Prev[:], e.Header, e.Hash[:], e.Sig, e.Bodies})
	}
	for c, err := range l.ListStates(t.Context(), posthouse.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		g.States = append(g.States, &goldenState{
			ID: string(c.ID), Seq: c.Seq, Header: must.Get(json.Marshal(&c.Header))(t), State: goldenParts(c.State), Metadata: c.Metadata,
		})
	}
	return g
}

// goldenThread writes a thread that uses everything the format has.
func goldenThread(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	ctx := t.Context()
	const thread = "order-7"
	claim := must.Get(l.Claim(ctx, thread, "run-1"))(t)
	commit := func(d *ledger.Draft) *posthouse.Committed {
		t.Helper()
		d.Thread, d.Claim = thread, claim
		return must.Get(l.Commit(ctx, d))(t)
	}
	commit(&ledger.Draft{Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Graph: "refund", Fingerprint: "f1", Run: "run-1",
		Coordination: "dispatch", Next: []string{"analyze", "audit"}, Labels: map[string]string{"tier": "gold", "area": "eu"},
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC),
		Parts: []posthouse.Part{
			{Name: "Messages", Data: []byte(`[]`)}, {Name: "Policy", Codec: "raw", Data: bytes.Repeat([]byte("policy text. "), 60)},
			{Name: "Request", Data: []byte(`"please refund order 7"`)},
		},
		Metadata: map[string]string{"source": "mail"},
	}})
	goldenChat(commit)
	wait, failed := goldenQuestions(t, l, thread, commit)
	if err := claim.Release(ctx); err != nil {
		t.Fatal(err)
	}
	fork := must.Get(l.Fork(ctx, wait.Checkpoint.ID, &ledger.ForkOptions{
		Branch: "what-if", By: "carol", Patch: posthouse.State{"Amount": {Codec: "json", Data: []byte(`7`)}},
	}))(t)
	hand := fork.Derive(fork.State)
	hand.ID, hand.State["Note"] = "by.hand:1", posthouse.Value{Codec: "raw", Data: []byte{0, 1, 2, 255}}
	hand = must.Get(l.Save(ctx, hand, nil))(t)
	hand.State["Note"] = posthouse.Value{Codec: "raw", Data: nil}
	must.Get(l.Save(ctx, hand, &ledger.SaveOptions{Replace: true}))(t)
	must.Get(retain.Delete(ctx, l, failed.Checkpoint.ID, &retain.DeleteOptions{By: "alice", Reason: "to try again"}))(t)
	must.Get(l.Cancel(ctx, thread, &ledger.CancelOptions{Branch: "what-if", By: "carol", Reason: "seen enough"}))(t)
	must.Get(l.Release(ctx, thread, &ledger.ReleaseOptions{Tags: []string{"stable", "may"}, By: "alice", Reason: "shipped", Failed: true}))(t)
	anew := must.Get(l.Save(ctx, posthouse.Root(thread, posthouse.State{"Note": {Codec: "json", Data: []byte(`"anew"`)}}), nil))(t)
	must.Get(l.Save(ctx, anew.Derive(anew.State), nil))(t)
	must.Get(retain.Delete(ctx, l, anew.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan}))(t)
}

// goldenChat appends messages; some of them are results of steps.
func goldenChat(commit func(*ledger.Draft) *posthouse.Committed) {
	length := len(`[]`)
	for i := range 40 { // more than the 32 checkpoints between two manifests
		message := fmt.Sprintf(`{"role":"assistant","text":%q}`, strings.Repeat(fmt.Sprintf("answer %d. ", i), 12))
		task := fmt.Sprintf("%d/analyze", i+2)
		if i%4 == 0 {
			commit(&ledger.Draft{Steps: []posthouse.Step{{
				Task: task, Name: "llm", Effect: posthouse.EffectExternal, Value: posthouse.Value{Codec: "json", Data: []byte(message)},
			}}})
		}
		if i > 0 {
			message = "," + message
		}
		parts := []posthouse.Part{{Name: "Messages", Splice: true, Prefix: length - 1, Suffix: 1, Data: []byte(message)}}
		length += len(message)
		switch i {
		case 10:
			parts = append(parts, posthouse.Part{Name: "Request", Drop: true})
		case 20:
			parts = append(parts, posthouse.Part{Name: "Amount", Data: []byte(`12.5`)}, posthouse.Part{Name: "Policy", Codec: "raw", Splice: true, Prefix: 26, Suffix: 130, Data: []byte("shorter. ")})
		}
		commit(&ledger.Draft{Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "analyze", Agent: "analyzer", Next: []string{"analyze"}, Parts: parts,
		}})
	}
}

// goldenQuestions opens a gate of each kind, answers them, and fails.
func goldenQuestions(t testing.TB, l *ledger.Ledger, thread string, commit func(*ledger.Draft) *posthouse.Committed) (wait, failed *posthouse.Committed) {
	t.Helper()
	ctx := t.Context()
	signal := func(s posthouse.Signal) { must.Get(l.Signal(ctx, thread, s))(t) }
	signal(posthouse.Signal{Name: "paid", Value: json.RawMessage(`{"amount":12.5}`), By: "bank"})
	wait = commit(&ledger.Draft{
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"approve"}},
		Gates: []posthouse.Gate{{
			Name: "refund", Task: "42/approve", Text: "Refund?", Payload: json.RawMessage(`{"amount":12.5}`),
			ExpiresAt: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		}, {ID: "my-gate", Name: "audit", Task: "42/approve", Occurrence: 1}, {
			Name: "signal:paid", Task: "42/approve", Kind: posthouse.GateSignal, Signal: "paid",
		}, {
			Name: "signal:limit", Task: "42/approve", Kind: posthouse.GateSignal, Signal: "limit", Latch: true,
		}, {
			Name: "sleep", Task: "42/approve", Kind: posthouse.GateTimer, ExpiresAt: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		}, {Name: "colour", Task: "42/approve", Kind: "choice"}, {
			ID: "our-gate", Name: "both", Task: "42/approve", Assignees: []string{"alice", "bob"}, Quorum: &posthouse.Quorum{Need: 2},
			Escalation: &posthouse.Escalation{At: time.Date(2026, 5, 7, 0, 0, 0, 0, time.UTC), To: []string{"dave"}},
		}},
	})
	signal(posthouse.Signal{Name: "limit", Value: json.RawMessage(`100`), Latch: true})
	signal(posthouse.Signal{Name: "limit", Value: json.RawMessage(`90`)})
	must.Get(l.Decide(ctx, wait.Gates[0].ID, posthouse.Decision{
		Verdict: posthouse.Edit, By: "alice", Reason: "half", Value: json.RawMessage(`{"amount":6}`), Shown: wait.Hash,
	}))(t)
	must.Get(l.Decide(ctx, "my-gate", posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}))(t)
	must.Get(l.Decide(ctx, "our-gate", posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	must.Get(l.Delegate(ctx, "our-gate", posthouse.Delegation{By: "bob", To: "carol", Reason: "on holiday"}))(t)
	must.Get(l.Decide(ctx, "our-gate", posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}))(t)
	failed = commit(&ledger.Draft{Checkpoint: &posthouse.Change{
		Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Node: "approve", Error: "the bank did not answer",
	}})
	return wait, failed
}

// goldenStore puts the golden thread into a store, as a reader of an old file
// would.
func goldenStore(t testing.TB, g *goldenFile) *memstore.Store {
	t.Helper()
	store, info := memstore.New(), &posthouse.ThreadInfo{Thread: g.Thread}
	for _, ge := range g.Entries {
		e := ge.entry(g.Thread)
		before := info.Tail
		next := *info
		if err := next.Apply(e); err != nil {
			t.Fatal(err)
		}
		info = &next
		b := &posthouse.Batch{After: before, Entry: e, Thread: info}
		for i, r := range must.Get(e.Records())(t) {
			switch {
			case r.Checkpoint != nil:
				b.IDs = append(b.IDs, posthouse.IndexedID{ID: r.Checkpoint.ID, Order: r.Checkpoint.Order, Header: r.Checkpoint, Replace: true})
			case r.Gate != nil:
				b.IDs = append(b.IDs, posthouse.IndexedID{ID: r.Gate.ID})
			case r.Decision != nil:
				b.IDs = append(b.IDs, posthouse.IndexedID{ID: r.Decision.Gate, Replace: true})
			case r.Removal != nil:
				var list posthouse.RemovedList
				if err := json.Unmarshal(e.Bodies[i], &list); err != nil {
					t.Fatal(err)
				}
				for _, c := range list.Checkpoints {
					b.Drop = append(b.Drop, c.ID)
				}
				b.Drop = append(b.Drop, r.Removal.Gates...)
			}
		}
		if err := store.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func (ge *goldenEntry) entry(thread string) *posthouse.Entry {
	return &posthouse.Entry{
		Thread: thread, Generation: ge.Generation, Seq: ge.Seq, Prev: posthouse.Hash(ge.Prev), Header: ge.Header,
		Hash: posthouse.Hash(ge.Hash), Sig: ge.Sig, Bodies: ge.Bodies,
	}
}

// TestGoldenThread has this version read what the first one wrote.
func TestGoldenThread(t *testing.T) {
	g := readGolden(t)
	store := goldenStore(t, g)
	ring := ringOf(t, goldenKey(t))
	r := verify(t, store, ring, &sign.VerifyOptions{RequireSigned: true})
	wantClean(t, r)
	if r.Entries != len(g.Entries) || r.Checkpoints != len(g.States) {
		t.Errorf("%d entries and %d checkpoints, want %d and %d", r.Entries, r.Checkpoints, len(g.Entries), len(g.States))
	}
	l := openLedger(t, store, nil, newClock().Now)
	for _, want := range g.States {
		c := must.Get(l.Get(t.Context(), posthouse.ID(want.ID)))(t)
		header := must.Get(json.Marshal(&c.Header))(t)
		var compact bytes.Buffer
		if err := json.Compact(&compact, want.Header); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(header, compact.Bytes()) {
			t.Errorf("checkpoint %s is %s\nwant %s", want.ID, header, compact.Bytes())
		}
		if parts := goldenParts(c.State); !reflect.DeepEqual(parts, want.State) || !maps.Equal(c.Metadata, want.Metadata) {
			t.Errorf("checkpoint %s has %v and metadata %v\nwant %v and %v", want.ID, parts, c.Metadata, want.State, want.Metadata)
		}
	}
}
