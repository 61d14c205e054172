package content_test

import (
	"testing"

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// A worker is on record by the name of its token, also where it says another one.
func TestAttemptToClaimInTheNameOfAnother(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		k := h.desk()
		defer k.stop()
		grant, _ := approvedAtWorker(h, app)
		ctx := task.WithPass(h.Context(), &task.Pass{Name: "mallory", Groups: []string{task.Any}, Tasks: []string{task.Any}})
		s := must(k.d.Connect(ctx, task.Hello{Protocol: task.Protocol, Worker: "ceo", Tasks: []string{"pay"}, Concurrency: 1}))(h)
		c := must(k.d.Claim(ctx, s.ID))(h)
		if c == nil {
			h.Fatal("it got no task")
		}
		for _, u := range must(ledger.ReadGrant(h.Context(), h.ledger, grant))(h).Uses {
			if len(u.Attempts) != 1 || u.Attempts[0].Worker != "worker:mallory" {
				h.Errorf("u.Attempts %+v", u.Attempts)
			}
		}
		k.paid(c)
	})
}
