package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// unzoned reports every time in a JSON value that is a number of milliseconds, or a text
// without a zone.
func unzoned(path string, v any) (bad []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			bad = append(bad, unzoned(path+"."+name, of)...)
		}
	case []any:
		for _, of := range v {
			bad = append(bad, unzoned(path+"[]", of)...)
		}
	case float64:
		if v > 1e12 && v < 1e13 {
			bad = append(bad, fmt.Sprintf("%s: %.0f", path, v))
		}
	case string:
		if text := regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d`).FindString(v); text != "" {
			if _, err := time.Parse(time.RFC3339, v); err != nil {
				bad = append(bad, path+": "+v)
			}
		}
	}
	return bad
}

// TestTimesHaveAZone walks the JSON answers of the API for times that are not RFC 3339 with
// a zone: each route that is read by GET, and those that answer with what they made.
func TestTimesHaveAZone(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	g := h.asking("t1", posthouse.Gate{Name: "pay", Text: "Pay?", Uses: 1, Payload: json.RawMessage(`{}`), ExpiresAt: time.Now().Add(time.Hour)})
	h.saved("t2", "1")
	answers := []*reply{
		h.post("/api/threads/t1/hold", `{"reason":"case 7"}`).want(http.StatusOK),
		h.post("/api/threads/t1/copy", `{"thread":"t3"}`).want(http.StatusOK),
		h.get("/api/threads/t1").want(http.StatusOK),
	}
	var one Thread
	answers[2].into(&one)
	if one.DueAt == nil || !one.DueAt.Equal(g.ExpiresAt) || one.Held == nil || one.Held.Since.IsZero() {
		t.Errorf("the thread is %s", answers[2].body)
	}
	answers = append(answers, h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve", as: tokens.Approver, body: `{}`}))
	walked := 0
	for _, r := range h.server.routes {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.Path, "/api/") || r.Style != api.JSON {
			continue
		}
		id := "t1"
		switch {
		case strings.HasPrefix(r.Path, "/api/gates/"):
			id = string(g.ID)
		case strings.HasPrefix(r.Path, "/api/checkpoints/"):
			id = string(g.Checkpoint)
		}
		a := h.get(strings.ReplaceAll(r.Path, "{id}", id))
		if a.status == http.StatusOK && json.Valid(a.body) {
			walked++
			answers = append(answers, a)
		}
	}
	if walked < 10 {
		t.Errorf("%d answers", walked)
	}
	for _, a := range answers {
		var v any
		if json.Unmarshal(a.body, &v) == nil {
			for _, bad := range unzoned("", v) {
				t.Errorf("%s answers with a time without a zone at %s", a.what, bad)
			}
		}
	}
}
