package mail

import (
	"errors"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/notifyfile"
)

// Kind is the section mail of a file of endpoints.
func Kind() notifyfile.Kind {
	return notifyfile.Kind{Name: "mail", Settings: func() notifyfile.Settings { return new(Settings) }}
}

// Settings are the section mail of a file: fields of [Options], and endpoints.
type Settings struct {
	Server       string            `yaml:"server"`
	TLS          string            `yaml:"tls"`
	Username     string            `yaml:"username"`
	PasswordFile string            `yaml:"passwordFile"`
	From         string            `yaml:"from"`
	ReplyTo      string            `yaml:"replyTo"`
	Bounces      string            `yaml:"bounces"`
	People       map[string]string `yaml:"people"`
	List         []Endpoint        `yaml:"endpoints"`
}

// An Endpoint is who gets mails of what: fields of [notify.Endpoint] and [ChannelOptions].
type Endpoint struct {
	notifyfile.Endpoint `yaml:",inline"`
	To                  []string `yaml:"to"`
	People              []string `yaml:"people"`
	SecretFile          string   `yaml:"secretFile"`
}

// defaultTimeout is how long the mails of one message may take.
const defaultTimeout = time.Minute

// Endpoints implements [notifyfile.Settings].
func (s *Settings) Endpoints(e *notifyfile.Env) ([]notify.Endpoint, error) {
	if len(s.List) == 0 && s.Server == "" && s.From == "" {
		return nil, nil
	}
	sender, err := New(&Options{
		Server: s.Server, TLS: s.TLS, Username: s.Username, PasswordFile: e.Path(s.PasswordFile), From: s.From, ReplyTo: s.ReplyTo, Bounces: s.Bounces,
		People: s.People, Now: e.Now,
	})
	if err != nil {
		return nil, err
	}
	all := make([]notify.Endpoint, 0, len(s.List))
	for i := range s.List {
		one, err := s.List[i].open(sender, e)
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

func (x *Endpoint) open(s *Sender, e *notifyfile.Env) (*notify.Endpoint, error) {
	c, err := s.Channel(&ChannelOptions{To: x.To, People: x.People, SecretFile: e.Path(x.SecretFile)})
	if err != nil {
		return nil, err
	}
	one := x.With(c)
	if one.Timeout == 0 {
		one.Timeout = defaultTimeout
	}
	switch {
	case x.DecideFor == "":
	case x.SecretFile == "":
		_, err = c.ApprovalKeys()
	case s.people[x.DecideFor] == nil:
		err = posthouse.Invalid("decideFor", "is %.80q, who has no address in people", x.DecideFor)
	}
	if err == nil {
		err = one.Validate()
	}
	return one, err
}
