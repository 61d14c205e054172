package tasks

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/link"
)

// NATSFlags say where workers and engines meet over NATS, and as whom.
type NATSFlags struct{ url, creds, ca, cert, key string }

// Add adds the flags.
func (n *NATSFlags) Add(f *pflag.FlagSet) {
	f.StringVar(&n.url, "nats", "", "URL of NATS servers, where tasks go over NATS; with a password in it, set POSTHOUSE_NATS instead")
	f.StringVar(&n.creds, "nats-creds", "", "file with the NATS user's credentials")
	f.StringVar(&n.ca, "nats-ca", "", "certificates that NATS servers are signed by, PEM (default: those of the system)")
	f.StringVar(&n.cert, "nats-cert", "", "this side's certificate for NATS, PEM")
	f.StringVar(&n.key, "nats-key", "", "its private key, PEM")
}

// Link returns what the flags say.
func (n *NATSFlags) Link() *link.Options {
	return &link.Options{URL: n.url, Credentials: n.creds, CA: n.ca, Cert: n.cert, Key: n.key}
}

// natsFields are the flags by the options that they become.
var natsFields = map[string]string{"URL": "nats", "Listen": "nats-listen", "Credentials": "nats-creds", "CA": "nats-ca", "Cert": "nats-cert", "Key": "nats-key"}

// NameFlag has an error about an option of a link name the flag.
func NameFlag(err error) error {
	if e, ok := errors.AsType[*posthouse.Error](err); ok && natsFields[e.Field] != "" {
		said := *e
		said.Field = natsFields[e.Field]
		return &said
	}
	return err
}
