package demo

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

// contract begins a thread for a contract, and returns its name.
func (w *week) contract(at time.Time, thread, partner, subject string, value json.Number, by string) string {
	w.begin(at, "contract", thread, by, map[string]string{"partner": partner}, Contract{Partner: partner, Subject: subject, Value: value, Months: 24})
	return thread
}

func (w *week) contracts() {
	at := w.day(6, 9, 30)
	thread := w.contract(at, "contract-helvetia", "Hosting Helvetia", "the hosting of our shop", "18400.00", "alice")
	w.decide(at.Add(2*hour), thread, "bob", posthouse.Approve, "the price is that of last year")
	w.decide(at.Add(5*hour), thread, "dana", posthouse.Approve, "")
	at = w.day(5, 10, 0)
	thread = w.contract(at, "contract-moreau", "Atelier Moreau", "the design of the catalogue", "9600.00", "alice")
	w.decide(at.Add(1*hour), thread, "bob", posthouse.Reject, "we have somebody for that")
	w.decide(at.Add(90*minute), thread, "carol", posthouse.Approve, "they are good")
	w.decide(at.Add(4*hour), thread, "dana", posthouse.Reject, "bob is right")
	thread = w.contract(w.ago(30*hour), "contract-lopez", "Lopez Logistics", "deliveries in Iberia", "31000.00", "bob") // alice may decide it after a day
	w.decide(w.ago(27*hour), thread, "carol", posthouse.Approve, "the terms are fine")
	thread = w.contract(w.ago(20*hour), "contract-nordlicht", "Nordlicht Energie", "electricity for two years", "7450.00", "bob")
	w.delegate(w.ago(8*hour), thread, "dana", "alice", "on leave until Monday")
	thread = w.contract(w.ago(12*hour), "contract-paper", "Paper & Sons", "paper for the office", "2900.00", "alice") // its price changes while people look at it
	w.decide(w.ago(11*hour), thread, "bob", posthouse.Approve, "cheap enough")
	w.plan(w.ago(4*hour), thread, func() error {
		_, err := w.apps.contract.Update(w.ctx, thread, func(c *Contract) { c.Value = "3150.00" }, graph.UpdateOptions{By: "alice"})
		return err
	})
	w.resume(w.ago(4*hour-minute), thread)
}

func (w *week) newsletters() {
	at := w.ago(160 * hour) // what is over is closed as a version, and the name is used again
	w.begin(at, "newsletter", "newsletter-customers", "carol", nil, Issue{"The letter of October", "what is new in the shop", "customers", 12044})
	w.decide(at.Add(2*hour), "newsletter-customers", "bob", posthouse.Approve, "")
	w.plan(w.ago(60*hour), "newsletter-customers", func() error {
		_, err := w.ledger.Release(w.ctx, "newsletter-customers", &ledger.ReleaseOptions{Tags: []string{"october"}, By: "carol", Reason: "sent and counted"})
		return err
	}).rests = true
	w.begin(w.ago(47*hour+39*minute), "newsletter", "newsletter-customers", "carol", nil, Issue{"The letter of November", "lamps for dark evenings", "customers", 12310})
	at = w.ago(50 * hour) // it sleeps until it was read
	w.begin(at, "newsletter", "newsletter-partners", "carol", nil, Issue{"For partners", "the new terms of delivery", "partners", 318})
	w.decide(at.Add(7*hour), "newsletter-partners", "alice", posthouse.Approve, "legal agrees")
	w.begin(w.ago(5*hour), "newsletter", "newsletter-staff", "dana", nil, Issue{"For us", "the move to the new office", "staff", 86})
	at = w.day(4, 11, 0)
	w.begin(at, "newsletter", "newsletter-press", "dana", nil, Issue{"To the press", "our new catalogue", "press", 41})
	w.cancel(at.Add(3*hour), "newsletter-press", "dana", "the catalogue is late")
}

// research begins a thread for a question, and returns its name.
func (w *week) research(at time.Time, thread, question, by string, sources ...string) string {
	w.begin(at, "research", thread, by, nil, Research{Question: question, Sources: sources})
	return thread
}

// choose has somebody say what a report is about.
func (w *week) choose(at time.Time, thread, by, focus string) {
	w.decideWith(at, thread, posthouse.Decision{By: by, Verdict: posthouse.Respond, Value: json.RawMessage(`{"focus":"` + focus + `"}`)})
}

func (w *week) researches() {
	at := w.day(6, 13, 0)
	thread := w.research(at, "research-heat-pumps", "Will heat pumps be cheaper next year?", "dana", "trade papers", "the ministry", "three makers", "a forum of fitters")
	w.choose(at.Add(2*hour), thread, "alice", "costs")
	w.resume(at.Add(3*hour), thread)
	w.fork(at.Add(27*hour), thread, "research-heat-pumps-risks", "dana", nil, true) // what a report on risks would say
	w.choose(at.Add(28*hour), "research-heat-pumps-risks", "alice", "risks")
	at = w.day(3, 9, 0) // it stops before it is published
	thread = w.research(at, "research-freight", "How long will freight be dear?", "carol", "the port of Rotterdam", "brokers", "two carriers")
	w.choose(at.Add(5*hour), thread, "bob", "opportunities")
	w.research(w.ago(8*hour), "research-paper", "Is recycled paper worth its price?", "alice", "suppliers", "printers", "a lab", "readers", "the union")
	at = w.day(2, 10, 0)
	thread = w.research(at, "research-chatbots", "Do customers like chatbots?", "bob", "our tickets", "two studies")
	w.decide(at.Add(hour), thread, "dana", posthouse.Reject, "we know the answer")
}

// askAgain has somebody ask again the first question of a thread, which has expired.
func (w *week) askAgain(thread, by string) error {
	for e, err := range w.ledger.Log(w.ctx, thread, posthouse.Range{}) {
		if err != nil {
			return err
		}
		for _, event := range e.Events {
			if event.Gate != nil {
				_, err := w.ledger.AskAgain(w.ctx, event.Gate.ID, &ledger.AskAgainOptions{By: by})
				return err
			}
		}
	}
	return posthouse.NotFound("question", thread)
}
