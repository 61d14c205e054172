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
