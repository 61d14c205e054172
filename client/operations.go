package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
)

// Operations are what operators do to a server: to many threads at once, to tasks, webhooks and
// access tokens. [Client.Operations] returns them.
type Operations struct{ client *Client }

// Operations returns what operators do to the server.
func (c *Client) Operations() Operations { return Operations{c} }

// A Verb is what is done to many threads.
type Verb string

// The verbs of [Operations.Bulk].
const (
	BulkResume  Verb = "resume"
	BulkCancel  Verb = "cancel"
	BulkRelease Verb = "release"
)

// A BulkQuery says to which threads something is done: at least one filter, or Threads.
type BulkQuery struct {
	Threads []string         `json:"threads,omitempty"` // these, at most 1,000; in the place of the filters
	Status  posthouse.Status `json:"status,omitempty"`  // with this status
	Program string           `json:"program,omitempty"` // of this program
	Prefix  string           `json:"prefix,omitempty"`  // with a name that starts so
	Reason  string           `json:"reason,omitempty"`  // goes on record, where something is cancelled or released
	DryRun  bool             `json:"dryRun,omitempty"`  // do nothing, and report what would be done
}

// A BulkReport says what became of many threads.
type BulkReport struct {
	DryRun bool       `json:"dryRun,omitempty"`
	Done   int        `json:"done"`
	Failed int        `json:"failed"`
	Items  []BulkItem `json:"items"`
	Next   string     `json:"next,omitempty"` // of one page; "" in what [Operations.Bulk] returns
}

// A BulkItem is what became of one thread.
type BulkItem struct {
	Thread   string           `json:"thread"`
	Status   posthouse.Status `json:"status"`            // before anything was done
	Branches []string         `json:"branches"`          // to which something was done, or would be
	Stands   []string         `json:"stands,omitempty"`  // why a resume passed branches over: a step that failed is not made again
	Problem  Document         `json:"problem,omitempty"` // what failed, as JSON
}

// Err returns what failed, nil if nothing did.
func (i *BulkItem) Err() error {
	if len(i.Problem) == 0 {
		return nil
	}
	return Problem(i.Problem)
}

// Bulk does something to all threads of a query, page by page. A failure about one thread is in the
// report and stops no other. With an error of the call the report has what was done before it.
func (o Operations) Bulk(ctx context.Context, verb Verb, q *BulkQuery) (*BulkReport, error) {
	all := &BulkReport{DryRun: q.DryRun, Items: []BulkItem{}}
	for after := ""; ; {
		body := struct {
			*BulkQuery
			After string `json:"after,omitempty"`
		}{q, after}
		var page BulkReport
		if err := o.client.ask(ctx, http.MethodPost, "/api/bulk"+Path(string(verb)), nil, body, &page); err != nil {
			return all, err
		}
		all.Done, all.Failed, all.Items = all.Done+page.Done, all.Failed+page.Failed, append(all.Items, page.Items...)
		after = page.Next
		if after == "" {
			return all, nil
		}
	}
}
