package webhooks

import (
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// An Answered takes requests with answers that people gave in channels, as [notify.Notifier].
type Answered interface {
	Receive(w http.ResponseWriter, r *http.Request, kind string) error
}

// Channels are /api/channels: where services in which people answer, Slack for one, send what they said.
type Channels struct {
	Notifier Answered // nil: no channel is configured
}

// maxAnswer bounds the body of such a request, in bytes.
const maxAnswer = 1 << 20

// Routes are the lines of the table.
func (cs *Channels) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodPost, Path: "/api/channels/{id}", Signed: true, Others: true, MaxBody: maxAnswer, Handle: cs.receive,
		Summary: "Take an answer that somebody gave in a channel",
		Notes: "For the service of the channel, as the request URL of a Slack app is /api/channels/slack. It signs what it sends; " +
			"anything else, and a kind of channel that is not configured, gets the same 401.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "it was read; the person is told in the channel what came of it", Body: nil, Media: ""}},
	}}
}

func (cs *Channels) receive(w http.ResponseWriter, r *api.Request) error {
	err := error(posthouse.NotFound("channel", string(r.ID("id"))))
	if cs.Notifier != nil {
		err = cs.Notifier.Receive(w, r.Request, string(r.ID("id")))
	}
	if errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, posthouse.ErrForbidden) {
		return &posthouse.Error{Code: problem.CodeUnauthenticated, Message: "a request that the channel's service signed is needed", Hint: "docs/slack.md says what to configure"}
	}
	return err
}
