//go:build unix

package shared

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestServerAway cuts all processes off from the server of their store while one runs a
// step. They say that they are not ready, and why; when the server is back they are, and
// the run goes on from what is on record. Nothing is lost, nor done twice.
func TestServerAway(t *testing.T) {
	for _, s := range backends {
		if testing.Short() && s.name != "redis" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
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

// TestServerStopped stops the server of a store while a process runs a step, for longer
// than that process has its thread, and starts it again: for a minute on each kind with
// POSTHOUSE_LONG=1, which is also longer than any call waits, else for 5 s on Redis and NATS. All
// say the whole time that they are not ready, and why. Then the run goes on, nothing is
// lost, and nothing is on record twice.
func TestServerStopped(t *testing.T) {
	absence, kinds := 5*time.Second, []string{"redis", "nats"}
	if os.Getenv("POSTHOUSE_LONG") != "" {
		absence, kinds = time.Minute, append(kinds, "postgres")
	}
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSite(t, name)
			at := s.URL("stopped", "")
			h := newHouse(t, at)
			web, a := h.start("web", at, false), h.start("a", at, true)
			h.start("b", at, true)
			h.ready(web, http.StatusOK)
			a.begin("t")
			begun := h.next(true, "first")
			s.Kill()
			for end := time.Now().Add(absence); time.Now().Before(end); {
				for _, p := range []*process{web, a} {
					if said := h.ready(p, http.StatusServiceUnavailable); !strings.Contains(said, `"unavailable"`) || !strings.Contains(said, "does not answer") {
						t.Fatalf("process %s is not ready, and says %s", p.name, said)
					}
				}
				if begun.conn != nil {
					h.goOn(begun) // its result cannot be written
					begun.conn = nil
				}
			}
			if err := s.Again(); err != nil {
				t.Fatal(err)
			}
			h.ready(web, http.StatusOK)
			h.ready(a, http.StatusOK)
			first := h.done("first")
			h.await(web.follow("t"), "gate")
			answer := approve(h, web)
			last := h.done("last")
			if got := <-answer; got.status != http.StatusOK {
				t.Errorf("approving: %d %s", got.status, got.body)
			}
			h.checkLog("first by "+first, "last by "+last)
		})
	}
}

// done lets a step run wherever it is begun, until a process says that it is on record.
func (h *house) done(step string) (by string) {
	h.Helper()
	for {
		select {
		case r := <-h.reports:
			switch {
			case r.Begins && r.Step == step:
				h.goOn(r)
			case r.Step == step && r.Code == "":
				return r.Process
			default:
				h.Logf("process %s: step %s: %q", r.Process, r.Step, r.Code)
			}
		case <-h.ctx.Done():
			h.Fatalf("step %s is never on record", step)
		}
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
