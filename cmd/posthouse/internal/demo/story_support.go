package demo

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// refund begins a thread for a refund, and returns its name.
func (w *week) refund(at time.Time, order int, amount json.Number, reason string, by string) string {
	thread := fmt.Sprint("refund-", order)
	w.begin(at, "refund", thread, by, map[string]string{"customer": fmt.Sprint("C-", 400+order%97)}, Refund{fmt.Sprint(order), amount, reason})
	return thread
}

// refunds plans those that are over.
func (w *week) refunds() {
	reasons := []string{"the lamp arrived broken", "it came twice", "it is the wrong colour", "it never arrived", "it does not fit"}
	for i := range 8 {
		at := w.day(6-i*6/8, 8+w.random.IntN(8), w.random.IntN(60))
		thread := w.refund(at, 8801+i*7, json.Number(fmt.Sprintf("%d.%02d", 12+w.random.IntN(180), w.random.IntN(100))), reasons[i%len(reasons)], "alice")
		verdict, reason := posthouse.Approve, ""
		if i%4 == 2 {
			verdict, reason = posthouse.Reject, "outside of the 30 days"
		}
		w.decide(at.Add(time.Duration(5+w.random.IntN(200))*minute), thread, []string{"bob", "dana"}[i%2], verdict, reason)
	}
	w.refund(w.day(4, 16, 0), 8870, "59.00", "the parcel is empty", "alice") // the analyst fails
	at := w.day(1, 9, 0)
	thread := w.refund(at, 8884, "149.00", "two of six chairs are missing", "alice")
	w.decideWith(at.Add(70*minute), thread, posthouse.Decision{
		By: "dana", Verdict: posthouse.Edit, Reason: "two chairs of six", Value: json.RawMessage(`{"order":"8884","amount":49.66,"reason":"two of six chairs are missing"}`),
	})
	at = w.day(3, 13, 0) // bob tries another amount on a branch, and pays nothing twice
	thread = w.refund(at, 8888, "80.00", "the table wobbles", "alice")
	w.decide(at.Add(30*minute), thread, "dana", posthouse.Reject, "too much for a screw")
	w.fork(at.Add(2*hour), thread, "", "bob", posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(`{"order":"8888","amount":20.00,"reason":"the table wobbles"}`)}}, true)
	w.decide(at.Add(3*hour), thread, "dana", posthouse.Approve, "a fair sum")
}

// refundsThatWait plans those that people have still to look at, and one that came too late.
func (w *week) refundsThatWait() {
	w.refund(w.day(2, 15, 0), 8877, "24.50", "it smells", "alice")
	w.plan(w.ago(100*minute), "refund-8877", func() error { return w.askAgain("refund-8877", "bob") })
	w.refund(w.ago(3*hour+51*minute), 8891, "49.90", "the lamp arrived broken", "alice")
	w.refund(w.ago(2*hour+30*minute), 8898, "120.00", "it came twice", "alice")
	w.refund(w.ago(34*minute), 8905, "18.75", "it is the wrong colour", "bob")
	thread := w.refund(w.ago(30*hour), 8912, "33.00", "it never arrived", "alice")
	w.cancel(w.ago(29*hour), thread, "alice", "the parcel has turned up")
}

// erasures plans the runs of erasure.
func (w *week) erasures() {
	systems := []string{"shop", "crm", "archive", "newsletter"}
	for i, customer := range []string{"C-417", "C-431", "C-444", "C-452", "C-460", "C-463", "C-439"} {
		at := []time.Time{w.day(6, 9, 0), w.day(3, 8, 30), w.day(2, 12, 0), w.ago(28 * hour), w.ago(5 * hour), w.ago(3 * hour), w.day(1, 11, 20)}[i]
		thread := "erasure-" + customer
		if i == 6 {
			systems = []string{"shop", "tapes"}
		}
		w.begin(at, "erasure", thread, "bob", map[string]string{"customer": customer}, Erasure{customer, "mail-" + customer[2:] + "@example.com", systems})
		if i == 4 {
			continue // it waits for the customer
		}
		w.plan(at.Add(50*minute), thread, func() error {
			_, err := w.ledger.Signal(w.ctx, thread, posthouse.Signal{Name: "confirmed", Value: json.RawMessage(`"by mail"`), By: "customer"})
			return err
		})
		switch i {
		case 0, 6:
			w.decide(at.Add(4*hour), thread, "dana", posthouse.Approve, "the mail is genuine")
		case 1:
			w.decide(at.Add(5*hour), thread, "dana", posthouse.Reject, "there is an open order")
		case 3:
			w.delegate(at.Add(3*hour), thread, "dana", "alice", "on leave until Monday")
		}
	}
}
