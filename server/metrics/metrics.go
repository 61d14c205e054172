// Package metrics counts what a Ledger commits and what a server answers, for Prometheus. A
// server writes them at /metrics.
//
//	m := metrics.New()
//	l, err := ledger.Open(store, &ledger.Options{Appended: m.Appended})
//	s, err := server.New(server.Options{Ledger: l, Metrics: m, ...})
//
// Names of programs and questions are labels: the first hundred of each have series of their own,
// and all others are counted as "other".
package metrics

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/prom"
)

// Metrics are the counts of one process, from its start. Make them with [New]. They are safe
// for concurrent use.
type Metrics struct {
	started, ended, checkpoints *prom.Counts
	steps, opened, decided      *prom.Counts
	unknown, signals, claims    *prom.Counts

	appends prom.Histogram
	failed  *prom.Counts // appends, by code
	commits atomic.Uint64

	requests *prom.Counts
	answers  prom.Histogram
}

// New returns metrics that are all zero.
func New() *Metrics {
	m := &Metrics{
		started: prom.NewCounts("program"), ended: prom.NewCounts("program", "status"), checkpoints: prom.NewCounts("program"),
		steps: prom.NewCounts("effect"), opened: prom.NewCounts("question"), decided: prom.NewCounts("verdict"),
		unknown: prom.NewCounts(), signals: prom.NewCounts(), claims: prom.NewCounts(),
		failed: prom.NewCounts("code"), requests: prom.NewCounts("route", "method", "status"),
	}
	for _, c := range []*prom.Counts{m.unknown, m.signals, m.claims} {
		c.Add(0) // so that a rate begins with the first
	}
	return m
}

// Commits returns how many appends to the store succeeded.
func (m *Metrics) Commits() uint64 { return m.commits.Load() }

// Appended counts one append to the store. It is for Options.Appended of package ledger.
func (m *Metrics) Appended(records []posthouse.Record, took time.Duration, err error) {
	m.appends.Observe(took)
	if err != nil {
		code := posthouse.CodeUnknown
		if e, ok := errors.AsType[*posthouse.Error](err); ok {
			code = e.Code
		}
		m.failed.Add(1, string(code))
		return
	}
	m.commits.Add(1)
	for i := range records {
		m.count(&records[i])
	}
}

func (m *Metrics) count(r *posthouse.Record) {
	switch {
	case r.Checkpoint != nil:
		m.checkpoint(r.Checkpoint)
	case r.Step != nil:
		m.steps.Add(1, cmp.Or(r.Step.Effect.String(), "none"))
	case r.Gate != nil && r.Gate.Kind == posthouse.GateOutcome:
		m.unknown.Add(1)
	case r.Gate != nil && waitsForPeople(r.Gate.Kind):
		m.opened.Add(1, r.Gate.Name)
	case r.Decision != nil:
		m.decided.Add(1, string(r.Decision.Verdict))
	case r.Signal != nil:
		m.signals.Add(1)
	case r.Claim != nil && !r.Claim.Unclaim:
		m.claims.Add(1)
	}
}

// waitsForPeople reports whether a gate of a kind is in the inbox.
func waitsForPeople(kind string) bool {
	switch kind {
	case posthouse.GateTimer, posthouse.GateSignal, posthouse.GateThread, posthouse.GateTask, posthouse.GateSession:
		return false
	}
	return true
}

func (m *Metrics) checkpoint(h *posthouse.Header) {
	m.checkpoints.Add(1, h.Graph)
	if h.Kind == posthouse.KindInput {
		m.started.Add(1, h.Graph)
	}
	switch h.Status {
	case posthouse.StatusDone, posthouse.StatusFailed, posthouse.StatusCancelled:
		m.ended.Add(1, h.Graph, string(h.Status))
	}
}

// Request counts one request that was answered. A path that is not in the table has the route
// "". Took is negative for an answer that stayed open.
func (m *Metrics) Request(route, method string, status int, took time.Duration) {
	if route == "" {
		method = ""
	}
	m.requests.Add(1, cmp.Or(route, prom.Other), cmp.Or(method, prom.Other), class(status))
	if took >= 0 {
		m.answers.Observe(took)
	}
}

// class returns the first digit of a status, as in 2xx.
func class(status int) string {
	if status < 100 || status > 599 {
		return prom.Other
	}
	return string(rune('0'+status/100)) + "xx"
}

// Text returns all counts in the text format of Prometheus.
func (m *Metrics) Text() []byte {
	t := new(prom.Text)
	m.started.Write(t, "posthouse_runs_started_total", prom.Counter, "Runs that this process began, by program.")
	m.ended.Write(t, "posthouse_runs_ended_total", prom.Counter, "Runs that ended here, by program and status: done, failed or cancelled.")
	m.checkpoints.Write(t, "posthouse_checkpoints_total", prom.Counter, "Checkpoints that were committed, by program.")
	m.steps.Write(t, "posthouse_steps_total", prom.Counter, "Results of steps that were recorded, by the class of their effect.")
	m.unknown.Write(t, "posthouse_effects_unknown_total", prom.Counter, "Effects with an outcome that nobody knows: people are asked.")
	m.opened.Write(t, "posthouse_gates_opened_total", prom.Counter, "Questions to people that were opened, by their names.")
	m.decided.Write(t, "posthouse_decisions_total", prom.Counter, "Gates of all kinds that got their decision, by verdict.")
	m.signals.Write(t, "posthouse_signals_total", prom.Counter, "Signals that were sent.")
	m.claims.Write(t, "posthouse_claims_total", prom.Counter, "Leases of threads that this process took and put on record.")
	m.appends.Write(t.Family("posthouse_store_append_seconds", prom.Histograms, "How long the store took to append an entry, failed ones included."))
	m.failed.Write(t, "posthouse_store_append_errors_total", prom.Counter, "Appends that failed, by the error's code; a conflict is tried again.")
	m.requests.Write(t, "posthouse_http_requests_total", prom.Counter, "Requests, by route, method and class of status.")
	m.answers.Write(t.Family("posthouse_http_request_seconds", prom.Histograms, "How long answers took, without those that stay open."))
	return t.Bytes()
}
