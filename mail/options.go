package mail

import (
	"cmp"
	"crypto/tls"
	"net"
	netmail "net/mail"
	"os"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// How a connection to the server is secured.
const (
	StartTLS = "starttls" // a connection that turns to TLS before anything is said; port 587
	Implicit = "implicit" // TLS from the first byte on; port 465
	None     = "none"     // others on the way can read and change mails; no password is sent
)

// Options say by which server mails go out, and from whom. Server and From are required.
type Options struct {
	Server string // HOST:PORT of a submission server
	TLS    string // [StartTLS], [Implicit] or [None]; default Implicit on port 465, else StartTLS

	Username     string // with PasswordFile; none: the server takes mails without a login
	PasswordFile string // has the password and nothing else; it is read again for each connection

	From    string // as in Posthouse <posthouse@example.com>
	ReplyTo string // where answers of people go; default From
	Bounces string // the sender of envelopes: where servers send mails that they cannot deliver; default From

	People map[string]string // mail addresses by the name that decides

	TLSConfig *tls.Config      // for private authorities; nil: the authorities of the system. ServerName is set
	Now       func() time.Time // default time.Now
}

// maxPeople bounds the people of a configuration.
const maxPeople = 1000

// A Sender sends mails by one server. Make one with [New].
type Sender struct {
	host, port string
	tls        string
	settings   *tls.Config
	user, pass string // a name and a file
	from       *netmail.Address
	reply      *netmail.Address // nil: to from
	bounces    string
	people     map[string]*netmail.Address
	now        func() time.Time
}

// New returns a sender. [posthouse.ErrInvalid] names the option at fault; the password is read, and the server
// is not asked.
func New(o *Options) (*Sender, error) {
	s := &Sender{tls: o.TLS, user: o.Username, pass: o.PasswordFile, people: map[string]*netmail.Address{}, now: o.Now, settings: o.TLSConfig.Clone()}
	if s.now == nil {
		s.now = time.Now
	}
	var err error
	s.host, s.port, err = net.SplitHostPort(o.Server)
	if err != nil || s.host == "" || s.port == "" {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "server", Message: "is not HOST:PORT", Hint: "as in smtp.example.com:587"}
	}
	if s.tls == "" {
		s.tls = StartTLS
		if s.port == "465" {
			s.tls = Implicit
		}
	}
	if s.settings == nil {
		s.settings = &tls.Config{}
	}
	s.settings.ServerName, s.settings.MinVersion = s.host, max(s.settings.MinVersion, tls.VersionTLS12)
	if err := s.checkLogin(); err != nil {
		return nil, err
	}
	if err := s.addresses(o); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Sender) checkLogin() error {
	switch {
	case s.tls != StartTLS && s.tls != Implicit && s.tls != None:
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "tls", Message: "is not one of starttls, implicit and none", Hint: "leave it out: it follows from the port"}
	case (s.user == "") != (s.pass == ""):
		return posthouse.Invalid("passwordFile", "and username belong together")
	case s.user != "" && s.tls == None:
		return posthouse.Invalid("tls", "is none: a password is not sent over an open connection")
	case s.user != "":
		_, err := s.password()
		return err
	}
	return nil
}

func (s *Sender) addresses(o *Options) (err error) {
	s.from, err = parseAddress("from", o.From)
	if err != nil {
		return err
	}
	s.bounces = s.from.Address
	if o.ReplyTo != "" {
		s.reply, err = parseAddress("replyTo", o.ReplyTo)
		if err != nil {
			return err
		}
	}
	if o.Bounces != "" {
		a, err := parseAddress("bounces", o.Bounces)
		if err != nil {
			return err
		}
		s.bounces = a.Address
	}
	if len(o.People) > maxPeople {
		return posthouse.Invalid("people", "are more than %d", maxPeople)
	}
	for name, address := range o.People {
		if err := posthouse.CheckDecider("people", name); err != nil {
			return err
		}
		s.people[name], err = parseAddress("people."+name, address)
		if err != nil {
			return err
		}
	}
	return nil
}

// parseAddress reads one address, without anything that could be more than an address.
func parseAddress(field, text string) (*netmail.Address, error) {
	a, err := netmail.ParseAddress(text)
	if err != nil || strings.ContainsAny(text, "\r\n\x00") || strings.ContainsAny(a.Address, " \t<>\"\\,;:") || len(a.Address) > 254 {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: field, Message: "is no mail address", Hint: "as in alice@example.com, or Alice <alice@example.com>",
		}
	}
	return a, nil
}

// maxPassword bounds the file of a password, in bytes.
const maxPassword = 4 << 10

func (s *Sender) password() (string, error) {
	b, err := os.ReadFile(s.pass)
	text := strings.TrimRight(string(b), "\r\n")
	switch {
	case err != nil:
		return "", &posthouse.Error{Code: posthouse.CodeInvalid, Field: "passwordFile", Message: "(" + s.pass + ") cannot be read", Err: err}
	case text == "" || len(text) > maxPassword || strings.ContainsAny(text, "\r\n\x00"):
		return "", posthouse.Invalid("passwordFile", "(%s) has no password: it is one line", s.pass)
	}
	return text, nil
}

// domain returns what follows the @ of the sender: Message-IDs end with it.
func (s *Sender) domain() string {
	_, domain, _ := strings.Cut(s.from.Address, "@")
	return cmp.Or(domain, "localhost")
}
