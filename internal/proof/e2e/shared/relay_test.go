//go:build unix

package shared

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/server"
)

// A cashier is an agent with a tool that needs an approval, on the connection.
type cashier struct{ process string }

func (c cashier) Handle(ctx context.Context, _ string, o *server.HandleOptions) (*server.Reply, error) {
	type payment struct{ Amount int }
	pay := gate.Require(func(_ context.Context, p payment) (string, error) {
		return fmt.Sprintf("%s paid %d", c.process, p.Amount), nil
	}, gate.Approval{Tool: "pay", Message: "Pay it?"})
	text, err := pay(ctx, payment{4})
	return &server.Reply{Thread: o.Thread, Text: text}, err
}

// TestApprovalElsewhere has a tool ask for approval on a connection to one process, and
// somebody approve it at another: the first calls the tool.
func TestApprovalElsewhere(t *testing.T) {
	for _, s := range backends {
		if testing.Short() && s.name != "redis" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			url, _, _ := s.at(t, fmt.Sprint("relay", stores.Add(1)))
			h := newHouse(t, url)
			web, a := h.start("web", url, false), h.start("a", url, true)

			conn, _, err := websocket.Dial(h.ctx, "ws"+strings.TrimPrefix(a.url, "http")+"/agent/cashier", &websocket.DialOptions{
				HTTPHeader: http.Header{"Authorization": {"Bearer " + a.token}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.CloseNow()
			if err := conn.Write(h.ctx, websocket.MessageText, []byte("please")); err != nil {
				t.Fatal(err)
			}
			h.frame(conn, "approval_required")
			id := h.waiting(web)
			if status, said := web.call(http.MethodPost, "/api/approvals/"+id+"/approve", "{}"); status != http.StatusOK {
				t.Fatalf("approving at the other process: %d %s", status, said)
			}
			h.frame(conn, "approval_resolved")
			h.frame(conn, "a paid 4")
			if status, _ := web.call(http.MethodPost, "/api/approvals/"+id+"/approve", "{}"); status != http.StatusNotFound {
				t.Errorf("a second answer: %d", status)
			}
		})
	}
}

// frame reads what the process sends until it has the text.
func (h *house) frame(conn *websocket.Conn, text string) {
	h.Helper()
	for {
		_, data, err := conn.Read(h.ctx)
		if err != nil {
			h.Fatalf("waiting for %s: %v", text, err)
		}
		if strings.Contains(string(data), text) {
			return
		}
	}
}

// waiting returns the id of the approval that waits in a session, once a process lists it.
func (h *house) waiting(p *process) string {
	h.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		status, body := p.call(http.MethodGet, "/api/approvals", "")
		var list struct{ Items []struct{ ID string } }
		if err := json.Unmarshal([]byte(body), &list); err == nil && len(list.Items) == 1 {
			return list.Items[0].ID
		}
		select {
		case <-tick.C:
		case <-h.ctx.Done():
			h.Fatalf("process %s lists no approval: %d %s", p.name, status, body)
		}
	}
}
