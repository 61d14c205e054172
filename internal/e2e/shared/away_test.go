//go:build unix

package shared

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestServerAway cuts all processes off from the server of their store while one runs a
// step. They say that they are not ready, and why; when the server is back they are, and
// the run goes on from what is on record. Nothing is lost, nor done twice.
func TestServerAway(t *testing.T) {
	for _, s := range backends {
		t.Run(s.name, func(t *testing.T) {
			name := fmt.Sprint("away", stores.Add(1))
			direct, network, addr := s.at(t, name)
			h := newHouse(t, direct)
			way := newProxy(t, network, addr)
			through := s.through(name, way.l.Addr().String())
			web, a := h.start("web", through, false), h.start("a", through, true)
			h.ready(web, http.StatusOK)
			a.begin("t")
			begun := h.next(true, "first")

			way.cut.Lock()
			if said := h.ready(web, http.StatusServiceUnavailable); !strings.Contains(said, "does not answer") {
				t.Errorf("not ready, and says %s", said)
			}
			h.goOn(begun) // its result cannot be written yet
			way.cut.Unlock()
			h.ready(web, http.StatusOK)
			if r := h.next(false, "first"); r.Code != "" {
				t.Errorf("the step could not be recorded: %q", r.Code)
			}
			h.await(web.follow("t"), "gate")
			answer := approve(h, web)
			h.goOn(h.next(true, "last"))
			if got := <-answer; got.status != http.StatusOK {
				t.Errorf("approving: %d %s", got.status, got.body)
			}
			h.checkLog("first by a", "last by a")
		})
	}
}

// ready asks a process until its answer to /readyz has the status, and returns the answer.
func (h *house) ready(p *process, want int) string {
	h.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		status, body := p.call(http.MethodGet, "/readyz", "")
		if status == want {
			return body
		}
		select {
		case <-tick.C:
		case <-h.ctx.Done():
			h.Fatalf("process %s is never ready with %d; last %d %s", p.name, want, status, body)
		}
	}
}
