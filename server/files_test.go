package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/files"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// fileOf returns the request that looks at a file.
func fileOf(t *testing.T, file []byte, checkpoint posthouse.ID) string {
	t.Helper()
	return string(must.Get(json.Marshal(map[string]any{"file": file, "checkpoint": checkpoint}))(t))
}

// TestFileIsLookedAt looks at a thread that another server exported, and finds that nothing of it was kept.
func TestFileIsLookedAt(t *testing.T) {
	from := open(t, nil)
	from.program.idle = true
	must.Get(from.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: noted("9007199254740993", "a line")}))(t)
	from.proposed("t", `{"amount":1.50}`)
	head := must.Get(from.ledger.Thread(t.Context(), "t"))(t).Branches[0].Head
	fork := must.Get(from.ledger.Fork(t.Context(), head, nil))(t)
	var exported bytes.Buffer
	must.Get(transfer.Export(t.Context(), from.ledger, "t", &exported, nil))(t)

	h := open(t, func(o *Options) { o.Scratch = func() posthouse.Store { return memstore.New() } })
	var f files.File
	h.post("/api/files", fileOf(t, exported.Bytes(), "")).want(http.StatusOK).into(&f)
	if f.Thread != "t" || len(f.Rows) != 3 || f.Rows[0].ID != fork.ID || f.Rows[2].Line != "a line" || len(f.Branches) != 2 || f.State != nil || f.More {
		t.Errorf("%+v", f)
	}
	if a := f.Rows[1].Asked; len(a) != 1 || a[0].Intent != "Pay this?" {
		t.Errorf("the question is %+v", a)
	}
	h.post("/api/files", fileOf(t, exported.Bytes(), f.Rows[2].ID)).want(http.StatusOK).into(&f)
	if string(f.State) != `{"n":9007199254740993}` || f.Before != nil {
		t.Errorf("the first state is %s after %s", f.State, f.Before)
	}
	h.post("/api/files", fileOf(t, exported.Bytes(), f.Rows[1].ID)).want(http.StatusOK).into(&f)
	if string(f.Before) != `{"n":9007199254740993}` {
		t.Errorf("before it was %s", f.Before)
	}
	h.get("/api/threads/t").refused(posthouse.CodeNotFound)
	h.post("/api/files", fileOf(t, exported.Bytes(), "nothing")).refused(posthouse.CodeNotFound)
	for _, r := range []tokens.Role{tokens.Viewer, tokens.Approver} {
		h.send(ask{method: "POST", path: "/api/files", as: r, body: fileOf(t, exported.Bytes(), "")}).refused(posthouse.CodeForbidden)
	}
}

// TestFileSaysWhoSignedIt looks at a signed thread where its key is known, and where it is not.
func TestFileSaysWhoSignedIt(t *testing.T) {
	scratch := func(o *Options) { o.Scratch = func() posthouse.Store { return memstore.New() } }
	from, ring := signed(t, nil)
	must.Get(from.ledger.Commit(t.Context(), &ledger.Draft{Thread: "tenant/42 日本", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}}))(t)
	exported := from.get("/api/threads/tenant%2F42%20%E6%97%A5%E6%9C%AC/export").want(http.StatusOK)
	if got, want := exported.header.Get("Content-Disposition"), `attachment; filename="tenant-42.posthouse"`; got != want {
		t.Errorf("the file is %s, want %s", got, want)
	}
	known := open(t, func(o *Options) {
		scratch(o)
		o.PublicKeys = func() (*sign.Ring, error) { return ring, nil }
	})
	for _, c := range []struct {
		at      *testServer
		known   bool
		covered int
	}{{known, true, 1}, {open(t, scratch), false, 0}} {
		var f files.File
		c.at.post("/api/files", fileOf(t, exported.body, "")).want(http.StatusOK).into(&f)
		s := f.Signed
		if s == nil || len(s.Keys) != 1 || s.Keys[0].ID != ring.Keys()[0].ID || s.Keys[0].Known != c.known || s.Covered != c.covered || len(s.Faults) != 0 {
			t.Errorf("where the key is known %t, the file is signed %+v", c.known, s)
		}
	}
}

// TestFileThatIsNone looks at what is damaged, cut off, empty, too long, and no file at all.
func TestFileThatIsNone(t *testing.T) {
	from := open(t, nil)
	from.waiting("t")
	var exported bytes.Buffer
	must.Get(transfer.Export(t.Context(), from.ledger, "t", &exported, nil))(t)
	from.post("/api/files", fileOf(t, exported.Bytes(), "")).refused(posthouse.CodeUnsupported)

	h := open(t, func(o *Options) { o.Scratch = func() posthouse.Store { return memstore.New() } })
	for at := 20; at < exported.Len(); at += 97 {
		damaged := bytes.Clone(exported.Bytes())
		damaged[at] ^= 4
		h.post("/api/files", fileOf(t, damaged, "")).refused(posthouse.CodeInvalid)
	}
	h.post("/api/files", fileOf(t, exported.Bytes()[:exported.Len()/2], "")).refused(posthouse.CodeInvalid)
	h.post("/api/files", fileOf(t, nil, "")).refused(posthouse.CodeInvalid)
	h.post("/api/files", fileOf(t, []byte("no file"), "")).refused(posthouse.CodeInvalid)
	h.post("/api/files", `{"file":"###"}`).refused(posthouse.CodeInvalid)
	h.post("/api/files", fileOf(t, make([]byte, 19<<20), "")).refused(posthouse.CodeTooLarge)
}
