package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// write plans the week.
func (w *week) write() {
	w.invoices()
	w.refunds()
	w.contracts()
	w.newsletters()
}

// faults of the world.
var (
	errBusy    = errors.New("the model is overloaded, try again later")
	errNoMoney = errors.New("the bank refuses: the account's limit for this day is used up")
	errSilent  = fmt.Errorf("the bank did not answer within 30 seconds: %w", posthouse.ErrUnknown)
	errNoParse = errors.New("the model's answer is no JSON: unexpected end of input")
	suppliers  = []Invoice{
		{Supplier: "Nordlicht Energie", IBAN: "DE89370400440532013000", Account: "70012", Currency: "EUR"},
		{Supplier: "Paper & Sons", IBAN: "GB29NWBK60161331926819", Account: "70044", Currency: "EUR"},
		{Supplier: "Hosting Helvetia", IBAN: "CH9300762011623852957", Account: "9007199254740993", Currency: "EUR"},
		{Supplier: "Atelier Moreau", IBAN: "FR1420041010050500013M02606", Account: "70101", Currency: "EUR"},
		{Supplier: "Lopez Logistics", IBAN: "ES9121000418450200051332", Account: "70230", Currency: "EUR"},
	}
)

// invoice begins a thread for an invoice.
func (w *week) invoice(at time.Time, number int, supplier int, amount json.Number, by string) string {
	in := suppliers[supplier]
	in.Number, in.Amount = fmt.Sprint("INV-", number), amount
	thread := fmt.Sprint("invoice-", number)
	w.begin(at, "invoice", thread, by, map[string]string{"supplier": in.Supplier}, in)
	return thread
}

func (w *week) invoices() {
	const min, hour = time.Minute, time.Hour
	w.faults = append(w.faults, fault{"read", "INV-1003", errBusy, 1}, fault{"read", "INV-1017", errBusy, 1},
		fault{"pay", "INV-1009", errNoMoney, 2}, fault{"pay", "INV-1011", errSilent, 1})
	amounts := []json.Number{"84.20", "1250.00", "310.75", "99.90", "2480.00", "45.00", "760.10", "5120.40"}
	for i, amount := range amounts { // paid in the course of the week
		at := w.day(6-i*5/len(amounts), 8+w.random.IntN(7), w.random.IntN(60))
		thread := w.invoice(at, 1001+i, i%len(suppliers), amount, "bob")
		w.decide(at.Add(time.Duration(10+w.random.IntN(300))*min), thread, []string{"carol", "dana"}[i%2], posthouse.Approve, []string{"", "as ordered", "within the budget"}[i%3])
	}
	at := w.day(3, 9, 20)
	thread := w.invoice(at, 1009, 4, "3300.00", "bob") // the bank refuses
	w.decide(at.Add(40*min), thread, "carol", posthouse.Approve, "delivered on Monday")
	at = w.day(2, 11, 5)
	thread = w.invoice(at, 1010, 1, "640.00", "bob")
	w.decide(at.Add(25*min), thread, "dana", posthouse.Reject, "we have paid this one in May, see INV-0788")
	at = w.day(1, 14, 40)
	thread = w.invoice(at, 1011, 3, "1875.50", "alice") // the bank is silent
	w.decide(at.Add(55*min), thread, "carol", posthouse.Approve, "")
	w.invoice(w.ago(100*hour), 1012, 0, "212.00", "bob") // nobody looks at it within three days
	at = w.day(1, 10, 15)
	thread = w.invoice(at, 1013, 2, "18400.00", "bob") // two people
	w.decide(at.Add(30*min), thread, "carol", posthouse.Approve, "the year's hosting")
	w.decide(at.Add(3*hour), thread, "dana", posthouse.Approve, "")
	// These wait.
	w.invoice(w.ago(70*hour+48*min), 1014, 2, "1250.00", "bob")
	w.invoice(w.ago(26*hour), 1015, 0, "389.99", "bob")
	thread = w.invoice(w.ago(9*hour), 1016, 1, "24999.00", "bob")
	w.decide(w.ago(2*hour), thread, "dana", posthouse.Approve, "this is the new machine")
	w.invoice(w.ago(95*min), 1017, 4, "76.40", "alice")
}

func (w *week) refund(at time.Time, order int, amount json.Number, reason string, by string) string {
	thread := fmt.Sprint("refund-", order)
	w.begin(at, "refund", thread, by, map[string]string{"customer": fmt.Sprint("C-", 400+order%97)}, Refund{fmt.Sprint(order), amount, reason})
	return thread
}

func (w *week) refunds() {
	const min, hour = time.Minute, time.Hour
	w.faults = append(w.faults, fault{"analyze", "the parcel is empty", errNoParse, 1})
	reasons := []string{"the lamp arrived broken", "it came twice", "it is the wrong colour", "it never arrived", "it does not fit"}
	for i := range 8 {
		at := w.day(6-i*6/8, 8+w.random.IntN(8), w.random.IntN(60))
		thread := w.refund(at, 8801+i*7, json.Number(fmt.Sprintf("%d.%02d", 12+w.random.IntN(180), w.random.IntN(100))), reasons[i%len(reasons)], "alice")
		verdict, reason := posthouse.Approve, ""
		if i%4 == 2 {
			verdict, reason = posthouse.Reject, "outside of the 30 days"
		}
		w.decide(at.Add(time.Duration(5+w.random.IntN(200))*min), thread, []string{"bob", "dana"}[i%2], verdict, reason)
	}
	w.refund(w.day(4, 16, 0), 8870, "59.00", "the parcel is empty", "alice") // the analyst fails
	w.refund(w.day(2, 15, 0), 8877, "24.50", "it smells", "alice")           // expires after four hours
	at := w.day(1, 9, 0)
	thread := w.refund(at, 8884, "149.00", "two of six chairs are missing", "alice")
	w.decideWith(at.Add(70*min), thread, "", posthouse.Decision{
		By: "dana", Verdict: posthouse.Edit, Reason: "two chairs of six", Value: json.RawMessage(`{"order":"8884","amount":49.66,"reason":"two of six chairs are missing"}`),
	})
	w.refund(w.ago(3*hour+51*min), 8891, "49.90", "the lamp arrived broken", "alice")
	w.refund(w.ago(2*hour+30*min), 8898, "120.00", "it came twice", "alice")
	w.refund(w.ago(34*min), 8905, "18.75", "it is the wrong colour", "bob")
}

func (w *week) contract(at time.Time, thread, partner, subject string, value json.Number, by string) string {
	w.begin(at, "contract", thread, by, map[string]string{"partner": partner}, Contract{Partner: partner, Subject: subject, Value: value, Months: 24})
	return thread
}

func (w *week) contracts() {
	const min, hour = time.Minute, time.Hour
	at := w.day(6, 9, 30)
	thread := w.contract(at, "contract-helvetia", "Hosting Helvetia", "the hosting of our shop", "18400.00", "alice")
	w.decide(at.Add(2*hour), thread, "bob", posthouse.Approve, "the price is that of last year")
	w.decide(at.Add(5*hour), thread, "dana", posthouse.Approve, "")
	at = w.day(5, 10, 0)
	thread = w.contract(at, "contract-moreau", "Atelier Moreau", "the design of the catalogue", "9600.00", "alice")
	w.decide(at.Add(1*hour), thread, "bob", posthouse.Reject, "we have somebody for that")
	w.decide(at.Add(90*min), thread, "carol", posthouse.Approve, "they are good")
	w.decide(at.Add(4*hour), thread, "dana", posthouse.Reject, "bob is right")
	at = w.ago(30 * hour) // escalated after a day
	thread = w.contract(at, "contract-lopez", "Lopez Logistics", "deliveries in Iberia", "31000.00", "bob")
	w.decide(at.Add(3*hour), thread, "carol", posthouse.Approve, "terms are fine")
	w.contract(w.ago(20*hour), "contract-nordlicht", "Nordlicht Energie", "electricity for two years", "7450.00", "bob")
	w.delegate(w.ago(8*hour), "contract-nordlicht", "dana", "alice", "on leave until Monday")
}

func (w *week) newsletters() {
	const hour = time.Hour
	at := w.ago(160 * hour)
	w.begin(at, "newsletter", "newsletter-october", "carol", nil, Issue{"The letter of October", "what is new in the shop", "customers", 12044})
	w.decide(at.Add(2*hour), "newsletter-october", "bob", posthouse.Approve, "")
	at = w.ago(50 * hour) // sleeps until it was read
	w.begin(at, "newsletter", "newsletter-partners", "carol", nil, Issue{"For partners", "the new terms of delivery", "partners", 318})
	w.decide(at.Add(7*hour), "newsletter-partners", "alice", posthouse.Approve, "legal agrees")
	w.begin(w.ago(47*hour+39*time.Minute), "newsletter", "newsletter-november", "carol", nil, Issue{"The letter of November", "lamps for dark evenings", "customers", 12310})
	w.begin(w.ago(5*hour), "newsletter", "newsletter-staff", "dana", nil, Issue{"For us", "the move to the new office", "staff", 86})
}

// delegate has somebody hand on their right to decide.
func (w *week) delegate(at time.Time, thread, by, to, reason string) {
	w.plan(at, thread, func() error {
		g, err := w.asked(thread, "")
		if err == nil {
			_, err = w.ledger.Delegate(w.ctx, g.ID, posthouse.Delegation{By: by, To: to, Reason: reason})
		}
		return err
	})
}
