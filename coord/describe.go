package coord

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/runs"
)

// inputSchema is that of a request, a text. A form calls its field so.
var inputSchema = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"string","title":"Request","description":"what the agents are asked to do, in words"}`)

// Describe implements [posthouse.Describer]. The input is a text, the request. The states are
// those that the journal makes of events, which only the program knows.
func (c *Coordinator) Describe() *posthouse.ProgramInfo {
	return &posthouse.ProgramInfo{
		Name: c.name, Kind: posthouse.ProgramCoordinator, Starts: true, Description: c.opt.Description,
		Input: inputSchema, Questions: front.Questions(c.opt.Questions),
	}
}

// StartJSON implements [posthouse.JSONStarter]. The input is the request, a text as JSON.
func (c *Coordinator) StartJSON(ctx context.Context, thread string, input json.RawMessage, o *posthouse.StartOptions) (*posthouse.Header, error) {
	message, err := front.ReadJSON(input, reflect.TypeFor[string]())
	if err != nil {
		return nil, err
	}
	o = cmp.Or(o, &posthouse.StartOptions{})
	options := &HandleOptions{Thread: cmp.Or(thread, string(c.ledger.Core().NewID())), By: o.By, Labels: o.Labels, StartAt: o.StartAt}
	text := *message.(*string)
	if err := options.validate(text); err != nil {
		return nil, err
	}
	if err := runs.CheckStartAt("StartAt", o.StartAt, c.ledger.Now()); err != nil {
		return nil, err
	}
	if err := front.NotBegun(ctx, c.ledger, options.Thread); err != nil || o.DryRun {
		return nil, err
	}
	var head *posthouse.Header
	_, err = c.claim(ctx, session.Options{Thread: options.Thread, StartAt: o.StartAt}, func(s *session.Session) (*Reply, error) {
		if h := s.Head(); h != nil { // another caller was first
			return nil, front.Begun(options.Thread, h.Graph)
		}
		_, err := c.take(ctx, s, &request{Message: text, By: o.By, Labels: o.Labels, begin: true}, options)
		head = s.Head()
		return nil, err
	})
	if head != nil {
		return head, nil // on record, whatever came after: a runner goes on with it
	}
	return nil, err
}
