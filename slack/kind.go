package slack

import (
	"errors"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/notifyfile"
)

// Kind is the section slack of a file of endpoints.
func Kind() notifyfile.Kind {
	return notifyfile.Kind{Name: "slack", Settings: func() notifyfile.Settings { return new(Settings) }}
}

// Settings are the section slack of a file: fields of [Options], and endpoints.
type Settings struct {
	TokenFile         string            `yaml:"tokenFile"`
	AppTokenFile      string            `yaml:"appTokenFile"`
	SigningSecretFile string            `yaml:"signingSecretFile"`
	Workspace         string            `yaml:"workspace"`
	People            map[string]string `yaml:"people"`
	APIURL            string            `yaml:"apiURL"` // of the Slack API, where it is not Slack's own
	List              []Endpoint        `yaml:"endpoints"`
}

// An Endpoint is where messages go, and of what: fields of [notify.Endpoint] and a conversation.
type Endpoint struct {
	notifyfile.Endpoint `yaml:",inline"`
	Channel             string `yaml:"channel"`
	Direct              bool   `yaml:"direct"`
}

// defaultTimeout is how long the calls for one message may take.
const defaultTimeout = 30 * time.Second

// Endpoints implements [notifyfile.Settings].
func (s *Settings) Endpoints(e *notifyfile.Env) ([]notify.Endpoint, error) {
	if len(s.List) == 0 && s.TokenFile == "" {
		return nil, nil
	}
	app, err := New(&Options{
		TokenFile: e.Path(s.TokenFile), AppTokenFile: e.Path(s.AppTokenFile), SigningSecretFile: e.Path(s.SigningSecretFile),
		Workspace: s.Workspace, People: s.People, URL: s.APIURL, Now: e.Now,
	})
	if err != nil {
		return nil, err
	}
	all := make([]notify.Endpoint, 0, len(s.List))
	for i := range s.List {
		one, err := s.List[i].open(app)
		if err != nil {
			if own, ok := errors.AsType[*posthouse.Error](err); ok {
				at := *own
				at.Field = "endpoints[" + strconv.Itoa(i) + "]." + own.Field
				err = &at
			}
			return nil, err
		}
		all = append(all, *one)
	}
	return all, nil
}

func (x *Endpoint) open(app *App) (*notify.Endpoint, error) {
	c, err := app.Channel(x.Channel, x.Direct)
	if err != nil {
		return nil, err
	}
	one := x.With(c)
	if one.Timeout == 0 {
		one.Timeout = defaultTimeout
	}
	if x.DecideFor != "" {
		return nil, posthouse.Invalid("decideFor", "is not for Slack: people decide there as themselves")
	}
	return one, one.Validate()
}
