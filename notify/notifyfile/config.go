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

	sections []section // of linked kinds, in their order

	// Dir is where files with relative paths are. [Read] sets it to the directory of the file;
	// default: the working directory.
	Dir string `yaml:"-"`
}

// A Webhook is an endpoint at an HTTP receiver: fields of [notify.Endpoint] and [webhook.Options].
type Webhook struct {
	Endpoint   `yaml:",inline"`
	URL        string   `yaml:"url"`
	SecretFile string   `yaml:"secretFile"`
	Allow      []string `yaml:"allow"`
	Insecure   bool     `yaml:"insecure"`
}

// Retry is a [posthouse.RetryPolicy] in a file.
type Retry struct {
	Attempts     int           `yaml:"attempts"`
	InitialDelay time.Duration `yaml:"initialDelay"`
	MaxDelay     time.Duration `yaml:"maxDelay"`
	Factor       float64       `yaml:"factor"`
	Jitter       float64       `yaml:"jitter"`
}

// Read reads a file, which may have sections of some kinds beside webhooks. [posthouse.ErrNotFound] if it is
// not there; [posthouse.ErrInvalid] names the key and the line at fault.
func Read(path string, kinds ...Kind) (*Config, error) {
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
	c, err := Parse(b, filepath.Base(path), kinds...)
	if err != nil {
		return nil, err
	}
	c.Dir = filepath.Dir(path)
	return c, nil
}

// Parse reads the content of a file with a name, which is for errors.
func Parse(data []byte, name string, kinds ...Kind) (*Config, error) {
	c := new(Config)
	sections := unlinked()
	for _, k := range kinds {
		s := k.Settings()
		c.sections = append(c.sections, section{k.Name, s})
		sections[k.Name] = s
	}
	if err := strictyaml.DecodeSections(data, name, c, sections); err != nil {
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
	for _, s := range c.sections {
		some, err := s.settings.Endpoints(&Env{Path: c.path, Now: now})
		if err != nil {
			return nil, below(s.name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// path returns where a file is that the configuration names.
func (c *Config) path(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}

func (c *Config) webhook(w *Webhook, now func() time.Time) (*notify.Endpoint, error) {
	channel, err := webhook.New(&webhook.Options{URL: w.URL, SecretFile: c.path(w.SecretFile), Allow: w.Allow, Insecure: w.Insecure, Now: now})
	if err != nil {
		return nil, err
	}
	return w.With(channel), nil
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
