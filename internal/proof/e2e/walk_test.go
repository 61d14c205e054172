package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/sign"
)

// TestWalk is the main job, from a request to a proof, with a crash in between.
func TestWalk(t *testing.T) { walk(t, newHouse(t)) }

// TestWalkEncrypted is the same with everything sealed: nothing that was said is
// in the files of the data directory.
func TestWalkEncrypted(t *testing.T) {
	h := newHouse(t)
	h.flags = []string{"--encrypt"}
	walk(t, h)
	files, err := filepath.Glob(filepath.Join(h.dir, "*"))
	for _, name := range []string{"posthouse.db", "effects.log"} {
		if err != nil || !slices.Contains(files, filepath.Join(h.dir, name)) {
			t.Fatalf("files %v, %v", files, err)
		}
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range []string{"refund order", "Analysis complete"} {
			if bytes.Contains(data, []byte(said)) {
				t.Errorf("%s has %q in the clear", filepath.Base(f), said)
			}
		}
	}
}

func walk(t *testing.T, h *house) {
	h.start()

	var reply server.Reply
	if code := h.call("POST", "/api/agents/dispatch", `{"message":"please refund order 1234"}`, &reply); code != http.StatusOK {
		t.Fatalf("the request was answered %d", code)
	}
	if reply.Thread == "" || reply.Checkpoint == "" || reply.Gate == "" || !strings.Contains(reply.Text, "Analysis complete") {
		t.Fatalf("the reply is not whole: %+v", reply)
	}
	socket := h.converse("/agent/dispatch", "please refund order 2000")
	seeds := h.converse("/atmosphere/agent/dispatch", "please refund order 3000")
	var sent server.Reply
	h.decode(&sent, "send", "dispatch", "please refund order 4000")

	waiting := []posthouse.ID{reply.Gate, socket.Gate, seeds.Gate, sent.Gate}
	h.inboxHas(waiting)
	h.kill()
	h.start()
	h.inboxHas(waiting)

	winner := h.race(&reply)
	said := []string{"order 1234", winner}
	if slices.Contains(h.flags, "--encrypt") {
		said = nil // what was carried out is in the store alone
	}
	if lines := h.effects(""); len(lines) != 1 || slices.ContainsFunc(said, func(s string) bool { return !strings.Contains(lines[0], s) }) {
		t.Errorf("the effect of one approval by %s: %q", winner, lines)
	}
	h.secondApproval(&reply, winner)
	child := h.child(&reply, winner)
	h.look(&reply, child)
	h.prove(reply.Thread)
}

// converse sends a request over a WebSocket and returns the reply.
func (h *house) converse(path, message string) *server.Reply {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.url, "http")+path, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + h.token}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		h.t.Fatal(err)
	}
	kinds := map[string]int{}
	for {
		_, data, err := c.Read(ctx)
		if err != nil {
			h.t.Fatalf("%s: %v", path, err)
		}
		var f struct {
			Type  string
			Reply *server.Reply
			Error json.RawMessage
		}
		if err := json.Unmarshal(data, &f); err != nil {
			h.t.Fatalf("%s: %v in %s", path, err, data)
		}
		kinds[f.Type]++
		switch {
		case f.Type == "error":
			h.t.Fatalf("%s: %s", path, f.Error)
		case f.Reply != nil:
			if kinds["text"] == 0 || kinds["event"] == 0 || f.Reply.Gate == "" {
				h.t.Errorf("%s streamed %v before the reply %+v", path, kinds, f.Reply)
			}
			return f.Reply
		}
	}
}

func (h *house) inboxHas(want []posthouse.ID) {
	h.t.Helper()
	var gates []*posthouse.Gate
	h.decode(&gates, "inbox")
	var got []posthouse.ID
	for _, g := range gates {
		got = append(got, g.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		h.t.Errorf("the inbox has %v, want %v", got, want)
	}
}

// race has eight people approve at once, half of them over HTTP and half on
// the command line. It returns who won.
func (h *house) race(r *server.Reply) string {
	h.t.Helper()
	people := []string{"ann", "bob", "cem", "dee", "eli", "fay", "gus", "hal"}
	won := make([]bool, len(people))
	var wg sync.WaitGroup
	for i, by := range people {
		wg.Go(func() {
			if i%2 == 0 {
				o := h.run("approve", string(r.Gate), "--by", by)
				won[i] = o.code == 0
				if o.code != 0 && o.code != posthouse.ExitConflict {
					h.t.Errorf("approve by %s: exit code %d\n%s", by, o.code, o.errOut)
				}
				return
			}
			code := h.call("POST", "/api/checkpoints/"+string(r.Checkpoint)+"/approve?by="+by, "", nil)
			won[i] = code == http.StatusOK
			if code != http.StatusOK && code != http.StatusConflict {
				h.t.Errorf("approve by %s: status %d", by, code)
			}
		})
	}
	wg.Wait()
	winner := ""
	for i, w := range won {
		switch {
		case w && winner != "":
			h.t.Errorf("both %s and %s were told that they approved", winner, people[i])
		case w:
			winner = people[i]
		}
	}
	if winner == "" {
		h.t.Fatal("nobody's approval was accepted")
	}
	return winner
}

// secondApproval must be told of the first, on both ways in.
func (h *house) secondApproval(r *server.Reply, winner string) {
	h.t.Helper()
	var p problem.Details
	code := h.call("POST", "/api/checkpoints/"+string(r.Checkpoint)+"/approve?by=zoe", "", &p)
	if code != http.StatusConflict || p.Decision == nil || p.Decision.By != winner || p.Decision.Verdict != posthouse.Approve {
		h.t.Errorf("a second approval was answered %d with %+v", code, p.Decision)
	}
	o := h.run("approve", string(r.Gate), "--by", "zoe")
	if o.code != posthouse.ExitConflict || !strings.Contains(o.errOut, winner) {
		h.t.Errorf("a second approval: exit code %d\n%s", o.code, o.errOut)
	}
}

// child is the checkpoint that the approval led to.
func (h *house) child(r *server.Reply, winner string) *server.Checkpoint {
	h.t.Helper()
	var cs []*server.Checkpoint
	h.decode(&cs, "checkpoint", "list", "--thread", r.Thread, "--states")
	if len(cs) != 2 {
		h.t.Fatalf("the thread has %d checkpoints, want the analyzer's and the approver's", len(cs))
	}
	c := cs[0]
	var state struct{ Request, ApprovedBy string }
	if err := json.Unmarshal(c.State, &state); err != nil {
		h.t.Fatal(err)
	}
	if c.Parent != r.Checkpoint || c.Agent != "approver" || c.Coordination != "dispatch" || c.Status != posthouse.StatusDone ||
		state.Request != "please refund order 1234" || state.ApprovedBy != winner {
		h.t.Errorf("the child is %+v with the state %s", c.Header, c.State)
	}
	return c
}

// look forks and reads the history.
func (h *house) look(r *server.Reply, child *server.Checkpoint) {
	h.t.Helper()
	var fork server.Checkpoint
	h.decode(&fork, "checkpoint", "fork", string(r.Checkpoint), "--branch", "what-if", "--patch", `{"request":"please refund order 5"}`)
	if fork.Branch != "what-if" || fork.Source == nil || fork.Source.ID != r.Checkpoint ||
		fork.Status != posthouse.StatusInterrupted || len(fork.Gates) > 0 {
		h.t.Errorf("the fork is %+v", fork.Header)
	}
	diff := h.must("diff", string(r.Checkpoint), string(child.ID))
	if !strings.Contains(diff, "/approvedBy") || strings.Contains(diff, "/request") {
		h.t.Errorf("the difference is\n%s", diff)
	}
	log := h.must("log", r.Thread)
	for _, want := range []string{string(r.Checkpoint), string(r.Gate), "✓ approved by", string(child.ID), "├─● " + string(fork.ID), "[what-if]", "[main]"} {
		if !strings.Contains(log, want) {
			h.t.Errorf("the log does not show %q:\n%s", want, log)
		}
	}
	if a, b := strings.Index(log, "✓ approved"), strings.Index(log, string(child.ID)); a > b {
		h.t.Errorf("the decision does not stand before what it led to:\n%s", log)
	}
	if code := h.call("DELETE", "/api/checkpoints/"+string(fork.ID), "", nil); code != http.StatusNoContent {
		h.t.Errorf("deleting the fork was answered %d", code)
	}
}

// prove verifies beside the running server and after it has stopped, then
// damages a record.
func (h *house) prove(thread string) {
	h.t.Helper()
	h.verified()
	if code := h.stop(); code != 0 {
		h.t.Errorf("asked to end, the server exited with %d", code)
	}
	h.verified()
	if len(h.flags) == 0 { // else there is no text in the file to find
		h.tamper(thread)
	}
}

func (h *house) verified() {
	h.t.Helper()
	var report sign.Report
	h.decode(&report, "verify")
	if !report.OK() || report.Threads != 4 || report.Covered == 0 || report.Covered+report.Uncovered != report.Entries {
		h.t.Errorf("verify reports %+v", report)
	}
}
