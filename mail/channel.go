package mail

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	netmail "net/mail"
	"slices"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/webhook"
)

// ChannelOptions say whom a channel writes to. Nil is all people of the sender.
type ChannelOptions struct {
	To     []string // addresses that get every message, as a list of a team
	People []string // names of people who get messages; nil: all of the sender's, an empty list: none

	// SecretFile has secrets as posthouse webhook secret makes them, the newest first: approval tokens of an endpoint
	// that decides for somebody follow from that one, and end when it is taken out.
	SecretFile string
}

// A Channel is a [notify.Channel] to mailboxes. Make one with [Sender.Channel].
type Channel struct {
	sender *Sender
	to     []recipient
	people []recipient
	keys   *webhook.SecretFile // nil: there is none
}

// A recipient is a mailbox, and whose it is.
type recipient struct {
	person  string // "": it is nobody's own
	address *netmail.Address
}

// Bounds on a channel.
const maxTo = 50

// Channel returns a channel that sends by s. [posthouse.ErrInvalid] names the option at fault.
func (s *Sender) Channel(o *ChannelOptions) (*Channel, error) {
	if o == nil {
		o = &ChannelOptions{}
	}
	c := &Channel{sender: s}
	for i, text := range o.To {
		a, err := parseAddress("to["+strconv.Itoa(i)+"]", text)
		if err != nil {
			return nil, err
		}
		c.to = append(c.to, recipient{"", a})
	}
	names := o.People
	if names == nil {
		names = slices.Sorted(maps.Keys(s.people))
	}
	for _, name := range names {
		if s.people[name] == nil {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "people", Message: "has " + strconv.Quote(name) + ", who has no address", Hint: "add the address to people of the section"}
		}
		c.people = append(c.people, recipient{name, s.people[name]})
	}
	switch {
	case len(c.to) > maxTo:
		return nil, posthouse.Invalid("to", "has more than %d addresses", maxTo)
	case len(c.to)+len(c.people) == 0:
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "people", Message: "are missing: nobody would get a mail", Hint: "as in {alice: alice@example.com}"}
	}
	if o.SecretFile != "" {
		keys, err := webhook.OpenSecretFile(o.SecretFile)
		if err != nil {
			return nil, err
		}
		c.keys = keys
	}
	return c, nil
}

// Kind returns "mail".
func (*Channel) Kind() string { return "mail" }

// Address returns the server, and how many mailboxes there are.
func (c *Channel) Address() string {
	return "smtp://" + c.sender.host + ":" + c.sender.port + " to " + strconv.Itoa(len(c.to)+len(c.people)) + " mailboxes"
}

// ApprovalKeys returns the secrets of the file, the newest first.
func (c *Channel) ApprovalKeys() ([][]byte, error) {
	if c.keys == nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "secretFile", Message: "is missing: links that decide follow from a secret",
			Hint: "posthouse webhook secret makes one; put it into a file",
		}
	}
	return c.keys.Keys()
}

// A memo is what is kept of a gate between messages.
type memo struct {
	Asked []string            `json:"asked,omitempty"` // people who were told of the gate
	Done  map[string][]string `json:"done,omitempty"`  // mailboxes that have a message which others wait for, by its id
}

// Deliver writes a message to each mailbox that is meant and does not have it. Its errors are [notify.Failure]s,
// and [notify.ErrPassed] where no mailbox is meant.
func (c *Channel) Deliver(ctx context.Context, m *notify.Message) error {
	if m.Decided && m.Event.Type != notify.GateDecided {
		return notify.ErrPassed // there is nothing to ask any more
	}
	kept, err := m.Memo.Load(ctx)
	if err != nil {
		return &notify.Failure{Message: "what is kept of the gate cannot be read"}
	}
	var have memo
	if len(kept) > 0 && json.Unmarshal(kept, &have) != nil {
		have = memo{}
	}
	all := c.recipients(m.Event, &have)
	if len(all) == 0 {
		return notify.ErrPassed
	}
	left := slices.DeleteFunc(slices.Clone(all), func(r recipient) bool { return slices.Contains(have.Done[m.ID], r.address.Address) })
	if len(left) == 0 {
		return nil
	}
	took, failure := c.sender.send(ctx, m, left)
	for _, r := range left {
		if r.person != "" && slices.Contains(took, r.address.Address) {
			m.Reached = append(m.Reached, r.person)
		}
	}
	if err := c.note(ctx, m, &have, all, took, failure); err != nil && failure == nil {
		return nil // the next message about the gate may go to more people than need it
	}
	if failure == nil {
		return nil
	}
	return failure
}

// note keeps who was asked, and who has a message that is to be sent again.
func (c *Channel) note(ctx context.Context, m *notify.Message, have *memo, all []recipient, took []string, failure *notify.Failure) error {
	if m.Event.Data.Gate == nil && failure == nil && len(have.Done) == 0 {
		return nil
	}
	before, _ := json.Marshal(have)
	if have.Done == nil {
		have.Done = map[string][]string{}
	}
	have.Done[m.ID] = append(have.Done[m.ID], took...)
	if failure == nil || failure.Refused {
		delete(have.Done, m.ID)
	}
	for _, r := range all {
		if r.person != "" && !slices.Contains(have.Asked, r.person) {
			have.Asked = append(have.Asked, r.person)
		}
	}
	if m.Event.Type == notify.GateDecided && (failure == nil || failure.Refused) || m.Event.Data.Gate == nil && len(have.Done) == 0 {
		return m.Memo.Save(ctx, nil)
	}
	after, err := json.Marshal(have)
	if err != nil || string(after) == string(before) {
		return err
	}
	return m.Memo.Save(ctx, after)
}

// recipients returns who is meant by an event.
func (c *Channel) recipients(e *notify.Event, have *memo) []recipient {
	g := e.Data.Gate
	var names []string // nil: all
	switch {
	case g == nil:
	case g.Approval != nil:
		names = []string{g.Approval.For} // who opens its link has the right
	case e.Data.Assignment != nil && len(e.Data.Assignment.To) > 0:
		names = e.Data.Assignment.To
	case e.Data.Reminder != nil && len(e.Data.Reminder.To) > 0:
		names = e.Data.Reminder.To // whoever voted or handed it on is not reminded
	case e.Type == notify.GateDecided && have.Asked != nil:
		names = have.Asked
	case len(g.Assignees) > 0:
		names = slices.Concat(g.Assignees, have.Asked)
	}
	var all []recipient
	if g == nil || g.Approval == nil {
		all = append(all, c.to...)
	}
	for _, r := range c.people {
		if names == nil || slices.Contains(names, r.person) {
			all = append(all, r)
		}
	}
	return all
}

// send writes to some mailboxes over one connection. It returns the addresses that took the message, and why
// others did not.
func (s *Sender) send(ctx context.Context, m *notify.Message, to []recipient) (took []string, failure *notify.Failure) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, &notify.Failure{Message: explain(ctx, err), Status: codeOf(err)}
	}
	defer conn.close()
	for i, r := range to {
		msg, err := s.message(m.Event, m.ID, r)
		if err == nil {
			err = conn.client.Send(msg)
		}
		if err == nil || msg != nil && msg.IsDelivered() {
			took = append(took, r.address.Address)
			continue
		}
		f := &notify.Failure{Message: r.address.Address + ": " + explain(ctx, err), Status: codeOf(err), Refused: isRefused(err)}
		if failure == nil || failure.Refused { // one that may go through later weighs more
			failure = f
		}
		if i < len(to)-1 && !conn.isOpen() {
			failure.Refused = false // others wait
			return took, failure
		}
	}
	return took, failure
}

// isRefused reports whether a server will never take a mail for a mailbox.
func isRefused(err error) bool {
	e, ok := errors.AsType[*gomail.SendError](err)
	if !ok || e.IsTemp() || e.ErrorCode() < 500 {
		return false
	}
	return e.Reason == gomail.ErrSMTPRcptTo || e.Reason == gomail.ErrSMTPData || e.Reason == gomail.ErrSMTPDataClose || e.Reason == gomail.ErrWriteContent
}

func codeOf(err error) int {
	if e, ok := errors.AsType[*gomail.SendError](err); ok {
		return e.ErrorCode()
	}
	return 0
}

// explain returns why a mail was not taken, on one line.
func explain(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "the mail server did not answer in time"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
