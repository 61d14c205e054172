package server

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

const closed = "bank: account 4711 is closed"

// TestFailureIsToldInEveryAnswer: the text of why a run failed is in each answer that has
// its checkpoint.
func TestFailureIsToldInEveryAnswer(t *testing.T) {
	h := open(t, nil)
	h.program.fails = closed
	_, g := h.waiting("t1")
	decided := h.post("/api/gates/"+string(g.ID)+"/approve", "")
	c := decided.want(200).checkpoint()
	if c.Error != closed || c.Branched == nil || c.Branched.Error != closed || c.Branched.Status != posthouse.StatusFailed {
		t.Errorf("the decision answers %s", decided.body)
	}
	for _, path := range []string{
		"/api/checkpoints/" + string(c.ID), "/api/checkpoints/" + string(c.ID) + "?state=false",
		"/api/checkpoints?thread=t1&limit=1", "/api/checkpoints?thread=t1&limit=1&state=false", "/api/threads/t1/log",
	} {
		if a := h.get(path).want(200); !strings.Contains(string(a.body), `"error":"`+closed+`"`) {
			t.Errorf("%s lacks why it failed: %s", path, a.body)
		}
	}
}

// TestThreadsSayWhenExactly: the API says when a thread last moved, to the instant and with
// a zone, and refuses a cursor that it never gave out.
func TestThreadsSayWhenExactly(t *testing.T) {
	h := open(t, nil)
	c := h.saved("t1", "1")
	var list []Thread
	h.get("/api/threads").want(200).into(&list)
	var one Thread
	h.get("/api/threads/t1").want(200).into(&one)
	for _, v := range append(list, one) {
		if !v.UpdatedAt.Equal(c.CreatedAt.Truncate(time.Millisecond)) || v.CreatedAt.After(v.UpdatedAt) {
			t.Errorf("made %s, updated %s; its checkpoint was made %s", v.CreatedAt, v.UpdatedAt, c.CreatedAt)
		}
	}
	h.get("/api/threads?cursor=xyz").refused(posthouse.CodeInvalid)
	h.get("/api/threads?cursor=t1").refused(posthouse.CodeInvalid)
	h.get("/api/threads?cursor=60000.xyz").refused(posthouse.CodeInvalid)
	h.get("/api/threads?order=newest&cursor=60000.t1").refused(posthouse.CodeInvalid)
	h.get("/api/threads?order=asc&cursor=xyz").refused(posthouse.CodeInvalid)
	h.get("/api/threads?order=desc&cursor=t1").refused(posthouse.CodeInvalid)
}
