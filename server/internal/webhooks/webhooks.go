package webhooks

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// A Notifier tells endpoints what happens, as [notify.Notifier].
type Notifier interface {
	List(ctx context.Context) ([]notify.Status, error)
	Test(ctx context.Context, name string) (*notify.Tested, error)
	Replay(ctx context.Context, name string, since time.Time, by string) error
	Resume(ctx context.Context, name string) error
	Deliveries(ctx context.Context, name string) ([]notify.Delivery, error)
	Told(ctx context.Context, gate posthouse.ID) (*notify.GateTold, error)
}

// Webhooks are /api/webhooks.
type Webhooks struct {
	Notifier Notifier                                                     // nil: no endpoint is configured
	Gate     func(context.Context, posthouse.ID) (*posthouse.Gate, error) // of the ledger
}

type replayBody struct {
	Since time.Time `json:"since" doc:"what happened from then until now is sent again, RFC 3339"`
}

// Routes are the lines of the table.
func (ws *Webhooks) Routes() []*api.Route {
	const one = "/api/webhooks/{id}"
	return []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/webhooks", Role: tokens.Operator, Summary: "List webhooks", Handle: api.All(ws.list),
			Notes:   "The endpoints of the configuration, with how far each is and what went wrong last. Secrets are not shown.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the endpoints", Body: api.List[notify.Status]{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: one + "/deliveries", Role: tokens.Operator, Summary: "List the newest deliveries of a webhook", Handle: api.All(ws.deliveries),
			Notes: "The last 50 attempts, the newest first, each with its message's id and how it went; those of replays are among them, tests are not. " +
				"They outlast restarts, and are the same at each server over the store.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the attempts", Body: api.List[notify.Delivery]{}, Media: "", Example: deliveries}},
		},
		{
			Method: http.MethodGet, Path: "/api/gates/{id}/deliveries", Role: tokens.Viewer, Summary: "List who was told of a gate", Handle: api.Show(ws.told),
			Notes: "For each event of the gate (asked, handed on, escalated, reminded, decided) and each endpoint of the configuration that is told of such events: whether the receiver took it, or why not. " +
				"It stands beside the gate's thread, so it outlasts restarts and is the same at each server over the store. How an attempt failed is for operators, since it may name addresses; others see the status.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "by the order of the events", Body: notify.GateTold{}, Media: "", Example: told}},
		},
		{
			Method: http.MethodPost, Path: one + "/test", Role: tokens.Operator, Summary: "Send a test to a webhook", Handle: api.Show(ws.test),
			Notes:   "One event of type test, at once, from the server that answers. A receiver that fails is no error of this call: the answer says how it went.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "how it went", Body: notify.Tested{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: one + "/replay", Role: tokens.Operator, Summary: "Send a webhook what happened once more", Handle: api.Take(ws.replay),
			Notes: "Messages have the ids that they had, so a receiver that has them can tell. The server that has the endpoint sends them beside what happens now, and goes on after a restart; " +
				"the list says how far it is. Another replay of the endpoint ends.",
			Body:    replayBody{},
			Answers: []api.Answer{{Status: http.StatusAccepted, Help: "it is under way", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: one + "/resume", Role: tokens.Operator, Summary: "Have a webhook go on", Handle: ws.resume,
			Notes:   "One that its receiver stopped (410 Gone) goes on where it stopped. What waits for another attempt is tried at once.",
			Answers: []api.Answer{{Status: http.StatusAccepted, Help: "it goes on", Body: nil, Media: ""}},
		},
	}
}

// check fails on a server without endpoints.
func (ws *Webhooks) check() error {
	if ws.Notifier != nil {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "this server has no webhooks", Hint: "name them in a file, and start it with --notify FILE: docs/webhooks.md shows one",
	}
}

func (ws *Webhooks) list(r *api.Request) ([]notify.Status, error) {
	if ws.Notifier == nil {
		return nil, nil
	}
	return ws.Notifier.List(r.Context())
}

var deliveries = json.RawMessage(`{"items":[{"id":"msg_2b7d0c5e","type":"gate.opened","thread":"order-1234","seq":3,"at":"2026-11-26T12:00:40Z","millis":38,"attempt":2,"delivered":true},` +
	`{"id":"msg_2b7d0c5e","type":"gate.opened","thread":"order-1234","seq":3,"at":"2026-11-26T12:00:35Z","millis":2004,"attempt":1,"delivered":false,"status":503,"error":"it answers 503"}]}`)

func (ws *Webhooks) deliveries(r *api.Request) ([]notify.Delivery, error) {
	if err := ws.check(); err != nil {
		return nil, err
	}
	return ws.Notifier.Deliveries(r.Context(), string(r.ID("id")))
}

var told = json.RawMessage(`{"endpoints":1,"items":[{"endpoint":"ops","kind":"webhook","event":"gate.opened","seq":2,"happened":"2026-11-26T12:00:00.5Z","state":"told","at":"2026-11-26T12:00:40.038Z",` +
	`"attempts":2,"first":"2026-11-26T12:00:35Z","status":503,"error":"the receiver answered 503 Service Unavailable"}]}`)

func (ws *Webhooks) told(r *api.Request) (*notify.GateTold, error) {
	if ws.Notifier == nil {
		_, err := ws.Gate(r.Context(), r.ID("id"))
		return &notify.GateTold{Items: []notify.Told{}}, err
	}
	d, err := ws.Notifier.Told(r.Context(), r.ID("id"))
	if err != nil {
		return nil, err
	}
	for i := range d.Items {
		if !r.Actor.Role.May(tokens.Operator) {
			d.Items[i].Error = ""
		}
	}
	return d, nil
}

func (ws *Webhooks) test(r *api.Request) (*notify.Tested, error) {
	if err := ws.check(); err != nil {
		return nil, err
	}
	return ws.Notifier.Test(r.Context(), string(r.ID("id")))
}

func (ws *Webhooks) replay(w http.ResponseWriter, r *api.Request, b *replayBody) error {
	if err := ws.check(); err != nil {
		return err
	}
	if err := ws.Notifier.Replay(r.Context(), string(r.ID("id")), b.Since, r.Actor.Name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (ws *Webhooks) resume(w http.ResponseWriter, r *api.Request) error {
	if err := ws.check(); err != nil {
		return err
	}
	if err := ws.Notifier.Resume(r.Context(), string(r.ID("id"))); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
