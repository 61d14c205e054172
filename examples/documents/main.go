// Command documents publishes contracts. Your problem: a document goes through
// many hands. A scanner fails at times, and for some files always. Two of three
// reviewers must agree within two days, and one who is away delegates. Expensive
// contracts need four eyes, and a requester must not sign their own. Each decision
// and its author must be known years later.
//
//	go run ./examples/documents submit 5000
//	go run ./examples/documents type zoe "we rent you a lamp"   # the scanner is broken
//	go run ./examples/documents vote ann approve
//	go run ./examples/documents delegate bob dora
//	go run ./examples/documents vote dora approve
//	go run ./examples/documents vote fay approve    # four eyes: two of fay, gus and hal
//	go run ./examples/documents vote gus approve
//	go run ./examples/documents trail
//
// The rules are in the questions. The Ledger keeps them for every answer, of this
// program, `posthouse approve`, REST or a page.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// Document is the state.
type Document struct {
	Author string
	Amount int // EUR; from 1,000 on it takes four eyes
	Text   string
	Trail  []string `posthouse:"append"` // what became of it, for people
}

// A scanner reads a document's text.
type scanner func(ctx context.Context) (string, error)

var errUnreadable = errors.New("unreadable")

func documents(scan scanner) *graph.Graph[Document] {
	g := graph.New[Document]("documents")
	g.Node("scan", func(ctx context.Context, d *Document) (err error) {
		d.Text, err = step.Do(ctx, "scan", scan)
		return err
	}, graph.NodeOptions{
		Timeout: time.Minute,
		Retry:   posthouse.RetryPolicy{MaxAttempts: 4, InitialDelay: 10 * time.Millisecond},
		RetryOn: func(err error) bool { return !errors.Is(err, errUnreadable) }, // another try does not help
	})
	g.OnError("scan", typeIn)
	g.Command("review", review, graph.NodeOptions{Targets: []string{"sign", "publish", graph.End}})
	g.Command("sign", sign, graph.NodeOptions{Targets: []string{"publish", graph.End}})
	g.Node("publish", func(ctx context.Context, d *Document) error {
		d.Trail = append(d.Trail, "published")
		return nil
	})
	g.Edge(graph.Start, "scan")
	g.Edge("scan", "review")
	g.Edge("publish", graph.End)
	return g
}

// typeIn has somebody type the document in once the retries are used up.
func typeIn(ctx context.Context, d *Document, failed error) (graph.Command, error) {
	if e, ok := errors.AsType[*graph.NodeError](failed); ok {
		failed = e.Err // without where: that is known here
	}
	a, err := gate.Ask[string](ctx, gate.Question{
		Name: "type-in", Kind: "form", Text: "The scan failed (" + failed.Error() + "). Type the document in.",
		Verdicts: []posthouse.Verdict{posthouse.Respond, posthouse.Reject},
	})
	if err != nil {
		return graph.Command{}, err
	}
	d.Text = a.Value
	d.Trail = append(d.Trail, fmt.Sprintf("typed in by %s, since: %v", a.By, failed))
	if a.Verdict != posthouse.Respond {
		return graph.Goto(graph.End), nil
	}
	return graph.Command{}, nil // on as if it had been scanned
}

// review asks three people; two decide.
func review(ctx context.Context, d *Document) (graph.Command, error) {
	a, err := gate.Ask[struct{}](ctx, gate.Question{
		Name: "review", Text: "Is this contract sound?", Show: d.Text, RequestedBy: d.Author,
		Verdicts:  []posthouse.Verdict{posthouse.Approve, posthouse.Reject},
		Assignees: []string{"ann", "bob", "cid"}, Quorum: &posthouse.Quorum{Need: 2, Outvote: true},
		Expires:  48 * time.Hour,
		Escalate: &gate.Escalation{After: 24 * time.Hour, To: []string{"eve"}}, // who is late gets help
	})
	if err != nil {
		return graph.Command{}, err
	}
	d.Trail = append(d.Trail, minute("review", a))
	switch {
	case !a.Approved():
		return graph.Goto(graph.End), nil // rejected, or without an answer for two days
	case d.Amount >= 1000:
		return graph.Goto("sign"), nil
	}
	return graph.Goto("publish"), nil
}

// sign asks those who may sign for much money, and takes two of them.
func sign(ctx context.Context, d *Document) (graph.Command, error) {
	a, err := gate.Ask[struct{}](ctx, gate.Question{
		Name: "sign", Text: fmt.Sprintf("Sign for %d EUR?", d.Amount), Show: d.Text, RequestedBy: d.Author,
		Verdicts:  []posthouse.Verdict{posthouse.Approve, posthouse.Reject},
		Assignees: []string{"fay", "gus", "hal"}, FourEyes: true,
	})
	if err != nil {
		return graph.Command{}, err
	}
	d.Trail = append(d.Trail, minute("sign", a))
	if !a.Approved() {
		return graph.Goto(graph.End), nil
	}
	return graph.Goto("publish"), nil
}

// minute writes down how a question was decided.
func minute(what string, a gate.Answer[struct{}]) string {
	line := what + ": " + string(a.Verdict)
	for _, v := range a.Votes {
		line += ", " + v.By + " " + string(v.Verdict)
		if v.For != "" {
			line += " for " + v.For
		}
	}
	return line
}

// An office runs documents over a store; thread is the document's number.
type office struct {
	ledger *ledger.Ledger
	app    *graph.App[Document]
	out    io.Writer
}

func open(store posthouse.Store, now func() time.Time, scan scanner, out io.Writer) (*office, error) {
	led, err := ledger.Open(store, &ledger.Options{Now: now, Validate: gate.Validator()})
	if err != nil {
		return nil, err
	}
	app, err := documents(scan).Compile(led, nil)
	if err != nil {
		return nil, errors.Join(err, led.Close())
	}
	return &office{led, app, out}, nil
}

// question returns what a document waits for.
func (o *office) question(ctx context.Context, thread string) (posthouse.ID, error) {
	for q, err := range o.ledger.Gates(ctx, ledger.GateQuery{Thread: thread}) {
		if err != nil {
			return "", err
		}
		return q.ID, nil
	}
	return "", errors.New("nothing waits for an answer")
}

// answer decides, or votes, and goes on with the document if that was enough.
func (o *office) answer(ctx context.Context, thread string, d posthouse.Decision) error {
	q, err := o.question(ctx, thread)
	if err != nil {
		return err
	}
	if _, err := o.ledger.Decide(ctx, q, d); err != nil {
		return err // not yours, decided before, your own request: it says which
	}
	return o.goOn(ctx, thread)
}

// delegate lets somebody decide in another's place.
func (o *office) delegate(ctx context.Context, thread, by, to string) error {
	q, err := o.question(ctx, thread)
	if err != nil {
		return err
	}
	_, err = o.ledger.Delegate(ctx, q, posthouse.Delegation{By: by, To: to, Reason: "away"})
	return err
}

// goOn resumes a document, if it can, and prints its status. In a server package
// runner does this, and keeps the deadlines.
func (o *office) goOn(ctx context.Context, thread string) error {
	out, err := o.app.Resume(ctx, thread)
	if err != nil {
		return err
	}
	return o.show(out)
}

func (o *office) show(out *graph.Result[Document]) error {
	for _, line := range out.State.Trail {
		fmt.Fprintln(o.out, line)
	}
	for _, q := range out.Waiting {
		fmt.Fprintf(o.out, "? %s %v\n", q.Text, q.Assignees)
	}
	_, err := fmt.Fprintln(o.out, out.Status)
	return err
}

func run(ctx context.Context, args []string) error {
	store, err := sqlitestore.Open(ctx, filepath.Join(os.TempDir(), "posthouse-documents.db"), nil)
	if err != nil {
		return err
	}
	defer store.Close()
	scan := func(context.Context) (string, error) { return "", fmt.Errorf("coffee on page 2: %w", errUnreadable) }
	o, err := open(store, nil, scan, os.Stdout)
	if err != nil {
		return err
	}
	defer o.ledger.Close()
	const thread = "contract-7"
	switch {
	case len(args) == 2 && args[0] == "submit":
		amount, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		out, err := o.app.Run(ctx, thread, Document{Author: "cid", Amount: amount})
		if err != nil {
			return err
		}
		return o.show(out)
	case len(args) == 3 && args[0] == "vote":
		return o.answer(ctx, thread, posthouse.Decision{By: args[1], Verdict: posthouse.Verdict(args[2])})
	case len(args) == 3 && args[0] == "type":
		return o.answer(ctx, thread, posthouse.Decision{By: args[1], Verdict: posthouse.Respond, Value: strconv.AppendQuote(nil, args[2])})
	case len(args) == 3 && args[0] == "delegate":
		return o.delegate(ctx, thread, args[1], args[2])
	case len(args) == 1 && args[0] == "trail":
		return o.goOn(ctx, thread)
	}
	return errors.New("usage: documents submit EUR | type WHO TEXT | vote WHO approve|reject | delegate FROM TO | trail")
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
