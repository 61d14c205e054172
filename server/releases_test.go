package server

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/retain"
)

func TestReleases(t *testing.T) {
	h := open(t, nil)
	first := h.saved("t", `"one"`)
	var rel posthouse.Release
	h.send(ask{method: "POST", path: "/api/threads/t/releases", body: `{"tags":["stable"],"reason":"shipped","failed":true}`}).want(http.StatusOK).into(&rel)
	if b, _ := rel.Head(""); rel.Version != 1 || rel.By == "" || !rel.Failed || b.Head != first.ID || rel.Tags[0] != "stable" {
		t.Errorf("the release is %+v", rel)
	}
	h.get("/api/threads/t").refused(posthouse.CodeNotFound)
	h.send(ask{method: "POST", path: "/api/threads/t/releases"}).refused(posthouse.CodeNotFound)
	h.get("/api/checkpoints/" + string(first.ID)).want(http.StatusOK)
	var cs []Checkpoint
	h.get("/api/checkpoints?thread=t").want(http.StatusOK).into(&cs)
	if len(cs) != 0 {
		t.Errorf("after the release the thread has %d checkpoints", len(cs))
	}
	for range 3 {
		h.saved("t", `"more"`)
		h.send(ask{method: "POST", path: "/api/threads/t/releases", body: `{}`}).want(http.StatusOK)
	}
	h.get("/api/checkpoints?thread=t&generation=1").want(http.StatusOK).into(&cs)
	if len(cs) != 1 || cs[0].ID != first.ID {
		t.Errorf("version 1 has %+v", cs)
	}
	got := ""
	for path := "/api/threads/t/releases?limit=3"; path != ""; {
		var page []posthouse.Release
		a := h.get(path).want(http.StatusOK)
		a.into(&page)
		for _, r := range page {
			got += fmt.Sprint(r.Version, " ")
		}
		path = a.header.Get("X-Next-Cursor")
		if path != "" {
			path = "/api/threads/t/releases?limit=3&cursor=" + path
		}
	}
	if got != "4 3 2 1 " {
		t.Errorf("versions %s", got)
	}
	for _, v := range []string{"1", "stable"} {
		h.get("/api/threads/t/releases/" + v).want(http.StatusOK).into(&rel)
		if rel.Version != 1 {
			t.Errorf("%s is version %d", v, rel.Version)
		}
	}
	h.get("/api/threads/t/releases/9").refused(posthouse.CodeNotFound)
	for _, v := range []string{"1", "stable"} {
		var was Thread
		h.get("/api/threads/t?version=" + v).want(http.StatusOK).into(&was)
		if b, _ := was.Branch(""); was.Generation != 1 || b.Head != first.ID || was.Checkpoints != 1 || was.Release == nil || was.Release.Reason != "shipped" || was.CreatedAt.IsZero() {
			t.Errorf("as %s the thread was %+v", v, was)
		}
	}
	h.get("/api/threads/t?version=9").refused(posthouse.CodeNotFound)
	h.get("/api/threads/nothing?version=1").refused(posthouse.CodeNotFound)
	var infos []posthouse.ThreadInfo
	h.get("/api/threads?released=true").want(http.StatusOK).into(&infos)
	if len(infos) != 1 || infos[0].Releases != 4 {
		t.Errorf("released threads %+v", infos)
	}
	var del retain.Deleted
	h.send(ask{method: "DELETE", path: "/api/threads/t/releases/stable?reason=old"}).want(http.StatusOK).into(&del)
	if del.Checkpoints != 1 {
		t.Errorf("dropping took %+v", del)
	}
	h.get("/api/checkpoints/" + string(first.ID)).refused(posthouse.CodeNotFound)
	var dropped Thread
	h.get("/api/threads/t?version=1").want(http.StatusOK).into(&dropped)
	if dropped.Release == nil || dropped.Checkpoints != 1 {
		t.Errorf("a version that was dropped has %+v", dropped)
	}
	for body, code := range map[string]posthouse.Code{`{"tags":["7"]}`: posthouse.CodeInvalid, `{"tags":["a b"]}`: posthouse.CodeInvalid, `{}`: posthouse.CodeNotFound} {
		h.send(ask{method: "POST", path: "/api/threads/t/releases", body: body}).refused(code)
	}
}

func TestCopyThread(t *testing.T) {
	h := open(t, nil)
	c := h.saved("t", `"one"`)
	var info posthouse.ThreadInfo
	h.send(ask{method: "POST", path: "/api/threads/t/copy", body: `{"thread":"u"}`}).want(http.StatusOK).into(&info)
	if b, _ := info.Branch(""); info.Thread != "u" || b.Head == c.ID || info.Checkpoints != 1 {
		t.Errorf("the copy is %+v", info)
	}
	h.send(ask{method: "POST", path: "/api/threads/t/copy", body: `{"thread":"u"}`}).refused(posthouse.CodeExists)
	h.send(ask{method: "POST", path: "/api/threads/t/copy", body: `{}`}).refused(posthouse.CodeInvalid)
	h.send(ask{method: "POST", path: "/api/threads/t/copy", body: `{"thread":"w","version":3}`}).refused(posthouse.CodeNotFound)
}
