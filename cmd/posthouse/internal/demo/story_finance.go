package demo

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

var suppliers = []Invoice{
	{Supplier: "Nordlicht Energie", IBAN: "DE89370400440532013000", Account: "70012", Currency: "EUR"},
	{Supplier: "Paper & Sons", IBAN: "GB29NWBK60161331926819", Account: "70044", Currency: "EUR"},
	{Supplier: "Hosting Helvetia", IBAN: "CH9300762011623852957", Account: "9007199254740993", Currency: "EUR"},
	{Supplier: "Atelier Moreau", IBAN: "FR1420041010050500013M02606", Account: "70101", Currency: "EUR"},
	{Supplier: "Lopez Logistics", IBAN: "ES9121000418450200051332", Account: "70230", Currency: "EUR"},
}

// invoice begins a thread for an invoice, and returns its name.
func (w *week) invoice(at time.Time, number, supplier int, amount json.Number, by string) string {
	in := suppliers[supplier]
	in.Number, in.Amount = fmt.Sprint("INV-", number), amount
	thread := fmt.Sprint("invoice-", number)
	w.begin(at, "invoice", thread, by, map[string]string{"supplier": in.Supplier}, in)
	return thread
}

// invoices plans those that are over.
func (w *week) invoices() {
	amounts := []json.Number{"84.20", "1250.00", "310.75", "99.90", "2480.00", "45.00", "760.10", "5120.40"}
	for i, amount := range amounts {
		at := w.day(6-i*5/len(amounts), 8+w.random.IntN(7), w.random.IntN(60))
		thread := w.invoice(at, 1001+i, i%len(suppliers), amount, "bob")
		w.decide(at.Add(time.Duration(10+w.random.IntN(300))*minute), thread, []string{"carol", "dana"}[i%2], posthouse.Approve, []string{"", "as ordered", "within the budget"}[i%3])
	}
	at := w.day(3, 9, 20)
	w.decide(at.Add(40*minute), w.invoice(at, 1009, 4, "3300.00", "bob"), "carol", posthouse.Approve, "delivered on Monday") // the bank refuses
	at = w.day(2, 11, 5)
	w.decide(at.Add(25*minute), w.invoice(at, 1010, 1, "640.00", "bob"), "dana", posthouse.Reject, "we have paid this one in May, see INV-0788")
	at = w.day(5, 15, 10) // the bank is silent, and dana finds out that it has paid
	thread := w.invoice(at, 1018, 0, "512.80", "alice")
	w.decide(at.Add(20*minute), thread, "carol", posthouse.Approve, "")
	w.decideWith(at.Add(6*hour), thread, posthouse.Decision{
		By: "dana", Verdict: posthouse.Happened, Reason: "it is on the statement of today", Value: json.RawMessage(`{"number":"R-51280","approvedBy":"carol"}`),
	})
	w.invoice(w.ago(100*hour), 1012, 0, "212.00", "bob") // it expires after three days
	at = w.day(1, 10, 15)                                // it takes two
	thread = w.invoice(at, 1013, 2, "18400.00", "bob")
	w.decide(at.Add(30*minute), thread, "carol", posthouse.Approve, "the year's hosting")
	w.decide(at.Add(3*hour), thread, "dana", posthouse.Approve, "")
	at = w.day(4, 10, 0) // alice asks what had become of half the sum
	thread = w.invoice(at, 1019, 3, "900.00", "bob")
	w.decide(at.Add(15*minute), thread, "carol", posthouse.Approve, "")
	w.fork(at.Add(4*hour), thread, "", "alice", posthouse.State{"Amount": {Codec: "json", Data: []byte("450.00")}}, true)
	w.decide(at.Add(5*hour), thread, "dana", posthouse.Reject, "it was paid in full")
	w.fork(at.Add(26*hour), thread, "", "bob", posthouse.State{"Supplier": {Codec: "json", Data: []byte(`"Atelier Moreau SARL"`)}}, false)
}

// invoicesThatWait plans those that people have still to look at.
func (w *week) invoicesThatWait() {
	at := w.day(1, 14, 40) // the bank is silent, and the outcome is open
	w.decide(at.Add(55*minute), w.invoice(at, 1011, 3, "1875.50", "alice"), "carol", posthouse.Approve, "")
	w.invoice(w.ago(70*hour+48*minute), 1014, 2, "1250.00", "bob")
	w.invoice(w.ago(26*hour), 1015, 0, "389.99", "bob")
	thread := w.invoice(w.ago(9*hour), 1016, 1, "24999.00", "bob")
	w.decide(w.ago(2*hour), thread, "dana", posthouse.Approve, "this is the new machine")
	w.invoice(w.ago(95*minute), 1017, 4, "76.40", "alice")
	thread = w.invoice(w.ago(7*hour), 1020, 4, "9800.00", "bob") // carol's edit takes it beyond what one may approve
	w.decideWith(w.ago(5*hour), thread, posthouse.Decision{By: "carol", Verdict: posthouse.Edit, Reason: "with the freight", Value: json.RawMessage(
		`{"invoice":"INV-1020","supplier":"Lopez Logistics","iban":"ES9121000418450200051332","account":70230,"amount":10450.00,"currency":"EUR"}`)})
	thread = w.invoice(w.ago(41*minute), 1021, 1, "58.00", "alice") // decided while the server was away
	w.decide(w.ago(minute), thread, "dana", posthouse.Approve, "pens").rests = true
}

// statements plans the runs of reconcile. The last one goes on when the server starts.
func (w *week) statements() {
	const ours = "DE02120300000000202051"
	for i, unclear := range []int{0, 7, 0} {
		at := w.day(5-i*2, 6, 0)
		day := at.Format(time.DateOnly)
		thread := "reconcile-" + day
		w.begin(at, "reconcile", thread, "carol", map[string]string{"account": ours}, Statement{ours, day, 9 + 2*i, unclear})
		if unclear > 0 {
			w.decideWith(at.Add(4*hour), thread, posthouse.Decision{By: "dana", Verdict: posthouse.Respond, Reason: "the amount and the day fit", Value: json.RawMessage(`{"invoice":"INV-0944"}`)})
		}
	}
	w.begin(w.ago(6*hour), "reconcile", "reconcile-savings", "carol", nil, Statement{"DE75512108001245126199", w.end.Format(time.DateOnly), 12, 5})
	w.begin(w.ago(20*time.Second), "reconcile", "reconcile-today", "carol", map[string]string{"account": ours}, Statement{ours, w.end.Format(time.DateOnly), 240, 0}).rests = true
}
