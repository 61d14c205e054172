package server

import (
	"net/http"
	"testing"

	"github.com/posthouse/posthouse/server/internal/operate"
	"github.com/posthouse/posthouse/server/metrics"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestStatus says what the store is, and counts commits and open questions about effects.
func TestStatus(t *testing.T) {
	counts := metrics.New()
	h := open(t, func(o *Options) { o.Metrics = counts })
	counts.Appended(nil, 0, nil)
	h.waiting("t1")
	var of operate.StatusOf
	h.send(ask{method: "GET", path: "/api/status", as: tokens.Viewer}).want(http.StatusOK).into(&of)
	if of.Store.Kind != "memory" || of.Store.Promise == "" || of.Store.Weak != nil || of.Commits != 1 || of.UnknownEffects != 0 || of.At.Before(of.StartedAt) {
		t.Errorf("it is %+v", of)
	}
}
