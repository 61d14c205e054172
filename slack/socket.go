package slack

import (
	"context"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/posthouse/posthouse/notify"
)

const (
	maxFrame  = 1 << 20          // bytes of a message over the socket
	redialMin = time.Second      // pauses before another connection
	redialMax = 60 * time.Second // is tried where one was refused
)

// socket keeps a connection to Slack until ctx ends.
func (a *App) socket(ctx context.Context, d *notify.Desk) {
	for pause := redialMin; ctx.Err() == nil; pause = min(2*pause, redialMax) {
		client, err := a.client(true)
		if err == nil {
			began := a.now()
			err = a.connected(ctx, client, d)
			if a.now().Sub(began) > redialMax {
				pause = redialMin
			}
		}
		if ctx.Err() != nil {
			return
		}
		d.Logger.Warn("there is no connection to Slack; trying again", "error", err, "pause", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// connected takes what comes over a connection, and over those that follow it as Slack asks for.
func (a *App) connected(ctx context.Context, client *slack.Client, d *notify.Desk) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	socket := socketmode.New(client, socketmode.OptionReadLimit(maxFrame))
	ended := make(chan error, 1)
	go func() { ended <- socket.RunContext(ctx) }()
	for {
		select {
		case err := <-ended:
			return err
		case e := <-socket.Events:
			a.event(ctx, socket, &e, d)
		}
	}
}

// event takes one event. Slack sends one that is not acknowledged again, which decides nothing twice.
func (a *App) event(ctx context.Context, socket *socketmode.Client, e *socketmode.Event, d *notify.Desk) {
	switch e.Type {
	case socketmode.EventTypeConnectionError, socketmode.EventTypeInvalidAuth:
		d.Logger.Warn("Slack refuses a connection", "event", string(e.Type))
	case socketmode.EventTypeInteractive:
		c, ok := e.Data.(slack.InteractionCallback)
		if !ok || e.Request == nil {
			return
		}
		id := e.Request.EnvelopeID
		a.begin(func() {
			var payload any // nil is no payload, and a nil view would be null
			if view := a.take(ctx, &c, d); view != nil {
				payload = view
			}
			if err := socket.AckCtx(ctx, id, payload); err != nil && ctx.Err() == nil {
				d.Logger.Warn("an answer from Slack was not acknowledged", "error", err)
			}
		})
	case socketmode.EventTypeEventsAPI, socketmode.EventTypeSlashCommand: // the app does not ask for them
		if e.Request != nil {
			_ = socket.AckCtx(ctx, e.Request.EnvelopeID, nil)
		}
	}
}
