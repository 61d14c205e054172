package notifyfile

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/strictyaml"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/webhook"
)

// A Config says who is told, and of what. The zero value has no endpoint.
type Config struct {
	URL      string    `yaml:"url"` // where people reach the pages, as in https://posthouse.example.com; links lead there
	Webhooks []Webhook `yaml:"webhooks"`

	// Dir is where files with relative paths are. [Read] sets it to the directory of the file;
	// default: the working directory.
	Dir string `yaml:"-"`
}

// A Webhook is an endpoint at an HTTP receiver: fields of [notify.Endpoint] and [webhook.Options].
type Webhook struct {
	Name        string        `yaml:"name"`
	URL         string        `yaml:"url"`
	SecretFile  string        `yaml:"secretFile"`
	Events      []notify.Type `yaml:"events"`
	When        notify.Rule   `yaml:"when"`
	OmitContent bool          `yaml:"omitContent"`
	DecideFor   string        `yaml:"decideFor"`
	Timeout     time.Duration `yaml:"timeout"`
	Retry       Retry         `yaml:"retry"`
	Allow       []string      `yaml:"allow"`
	Insecure    bool          `yaml:"insecure"`
}

// Retry is a [posthouse.RetryPolicy] in a file.
type Retry struct {
	Attempts     int           `yaml:"attempts"`
	InitialDelay time.Duration `yaml:"initialDelay"`
	MaxDelay     time.Duration `yaml:"maxDelay"`
	Factor       float64       `yaml:"factor"`
	Jitter       float64       `yaml:"jitter"`
}

// Read reads a file. [posthouse.ErrNotFound] if it is not there; [posthouse.ErrInvalid] names the key and
// the line at fault.
func Read(path string) (*Config, error) {
	info, err := os.Stat(path)
	var b []byte
	if err == nil && info.Size() <= strictyaml.MaxSize {
		b, err = os.ReadFile(path)
	}
	switch {
	case os.IsNotExist(err):
		return nil, &posthouse.Error{Code: posthouse.CodeNotFound, Message: "there is no file " + path, Hint: "docs/webhooks.md shows one"}
	case err != nil:
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: path, Message: "cannot be read", Err: err}
	case info.Size() > strictyaml.MaxSize:
		return nil, posthouse.Invalid(path, "has %d bytes; the limit is %d", info.Size(), strictyaml.MaxSize)
	}
	c, err := Parse(b, filepath.Base(path))
	if err != nil {
		return nil, err
	}
	c.Dir = filepath.Dir(path)
	return c, nil
}

// Parse reads the content of a file with a name, which is for errors.
func Parse(data []byte, name string) (*Config, error) {
	c := new(Config)
	if err := strictyaml.Decode(data, name, c); err != nil {
		return nil, err
	}
	return c, nil
}

// Endpoints returns the endpoints, with their channels; secrets are read, and nothing is sent. now is the
// clock of timestamps; nil is time.Now. [posthouse.ErrInvalid] names the endpoint at fault.
func (c *Config) Endpoints(now func() time.Time) ([]notify.Endpoint, error) {
	all := make([]notify.Endpoint, 0, len(c.Webhooks))
	for i := range c.Webhooks {
		e, err := c.webhook(&c.Webhooks[i], now)
		if err == nil {
			err = e.Validate()
		}
		if err != nil {
			return nil, below("webhooks["+strconv.Itoa(i)+"]", err)
		}
		all = append(all, *e)
	}
	return all, nil
}

func (c *Config) webhook(w *Webhook, now func() time.Time) (*notify.Endpoint, error) {
	path := w.SecretFile
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	channel, err := webhook.New(&webhook.Options{URL: w.URL, SecretFile: path, Allow: w.Allow, Insecure: w.Insecure, Now: now})
	if err != nil {
		return nil, err
	}
	return &notify.Endpoint{
		Name: w.Name, Channel: channel, Events: w.Events, Rule: w.When, OmitContent: w.OmitContent, DecideFor: w.DecideFor, Timeout: w.Timeout,
		Retry: posthouse.RetryPolicy{
			MaxAttempts: w.Retry.Attempts, InitialDelay: w.Retry.InitialDelay, MaxDelay: w.Retry.MaxDelay, Factor: w.Retry.Factor, Jitter: w.Retry.Jitter,
		},
	}, nil
}

// below puts a place before the field of an error.
func below(place string, err error) error {
	if e, ok := errors.AsType[*posthouse.Error](err); ok {
		c := *e
		c.Field = place + "." + e.Field
		return &c
	}
	return err
}
