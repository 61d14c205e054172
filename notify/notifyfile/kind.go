package notifyfile

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
)

// A Kind is a kind of endpoints that a file can have beside webhooks, in a section of its own.
type Kind struct {
	Name     string          // of the section, and of the channels
	Settings func() Settings // returns a pointer to a struct with yaml tags, which is filled in
}

// Settings are a section of a file.
type Settings interface {
	// Endpoints returns the endpoints of the section; secrets are read, and nothing is sent. It is
	// called for a section that is not there, too. [posthouse.ErrInvalid] names the key at fault,
	// below the section.
	Endpoints(e *Env) ([]notify.Endpoint, error)
}

// An Env is what [Settings] make endpoints with.
type Env struct {
	Path func(string) string // returns where a file is that the settings name; "" stays ""
	Now  func() time.Time    // nil is time.Now
}

// An Endpoint is what endpoints of all kinds have in a file: fields of [notify.Endpoint].
type Endpoint struct {
	Name        string        `yaml:"name"`
	Events      []notify.Type `yaml:"events"`
	When        notify.Rule   `yaml:"when"`
	OmitContent bool          `yaml:"omitContent"`
	DecideFor   string        `yaml:"decideFor"`
	Timeout     time.Duration `yaml:"timeout"`
	Retry       Retry         `yaml:"retry"`
}

// With returns the endpoint with its channel.
func (e *Endpoint) With(c notify.Channel) *notify.Endpoint {
	return &notify.Endpoint{
		Name: e.Name, Channel: c, Events: e.Events, Rule: e.When, OmitContent: e.OmitContent, DecideFor: e.DecideFor, Timeout: e.Timeout,
		Retry: posthouse.RetryPolicy{
			MaxAttempts: e.Retry.Attempts, InitialDelay: e.Retry.InitialDelay, MaxDelay: e.Retry.MaxDelay, Factor: e.Retry.Factor, Jitter: e.Retry.Jitter,
		},
	}
}

// A section is one of a linked kind.
type section struct {
	name     string
	settings Settings
}

// unlinked returns the sections that Posthouse knows, each with the error of a binary that does not link it.
func unlinked() map[string]any {
	all := map[string]any{}
	for name, kind := range map[string]string{"slack": "slack.Kind()", "mail": "mail.Kind()"} {
		all[name] = &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: "is of a kind that this binary is built without",
			Hint: "the posthouse of a release and of its image has it; a binary of your own links module github.com/posthouse/posthouse/" + name + " and has " + kind + " in Channels of its app.Programs",
		}
	}
	return all
}
