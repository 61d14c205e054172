package slack

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
)

// A Channel is a [notify.Channel] to conversations of a workspace. Make one with [App.Channel].
type Channel struct {
	app          *App
	conversation string
	direct       bool
	mu           sync.Mutex // one delivery at a time: what is posted is noted before and after
}

var conversationID = regexp.MustCompile(`^[CGD][A-Z0-9]{2,30}$`)

// Channel returns a channel to a conversation, as in C0123456789; "" is none. With direct, questions also go to
// those of their assignees whom the app knows, as direct messages. [posthouse.ErrInvalid] names what is at fault.
func (a *App) Channel(conversation string, direct bool) (*Channel, error) {
	switch {
	case conversation == "" && !direct:
		return nil, posthouse.Invalid("channel", "is missing")
	case conversation != "" && !conversationID.MatchString(conversation):
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "channel", Message: "is no ID of a channel", Hint: "as in C0123456789, which is at the end of the details of the channel: names change"}
	case direct && len(a.people) == 0:
		return nil, posthouse.Invalid("direct", "needs people")
	}
	return &Channel{app: a, conversation: conversation, direct: direct}, nil
}

// Kind returns "slack".
func (*Channel) Kind() string { return "slack" }

// Address returns the conversation.
func (c *Channel) Address() string {
	if c.conversation == "" {
		return "slack:" + c.app.workspace + " (direct messages)"
	}
	return "slack:" + c.conversation
}

// Answers implements [notify.Answering].
func (c *Channel) Answers() notify.Answerer { return c.app }

// Follows implements [notify.Following]: messages say how their questions ended.
func (*Channel) Follows() {}

// A memo is what is kept of a gate, or of another message until it is posted.
type memo struct {
	Posts   []post   `json:"posts,omitempty"`   // messages about the gate
	Sending *sending `json:"sending,omitempty"` // a message that may have been posted
	Told    []string `json:"told,omitempty"`    // replies that were posted
}

type post struct {
	Conversation string `json:"conversation"`
	TS           string `json:"ts"`
}

type sending struct {
	Conversation string    `json:"conversation"`
	At           time.Time `json:"at"`
}

// A delivery is a message on its way.
type delivery struct {
	*Channel
	client *slack.Client
	m      *notify.Message
	have   memo
	told   bool // Slack has acknowledged something of the message, now or in an attempt before
}

// Deliver posts a message, or says of one that was posted how its question ended. Its errors are [notify.Failure]s,
// and [notify.ErrPassed] where there was nothing to post and nothing to change.
func (c *Channel) Deliver(ctx context.Context, m *notify.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	client, err := c.app.client(false)
	if err != nil {
		return &notify.Failure{Message: err.Error()}
	}
	kept, err := m.Memo.Load(ctx)
	if err != nil {
		return &notify.Failure{Message: "what was posted cannot be read"}
	}
	d := &delivery{Channel: c, client: client, m: m}
	if len(kept) > 0 && json.Unmarshal(kept, &d.have) != nil {
		d.have = memo{}
	}
	if err := d.do(ctx); err != nil {
		return failure(err)
	}
	if !d.told {
		return notify.ErrPassed
	}
	return nil
}

func (d *delivery) do(ctx context.Context) error {
	e := d.m.Event
	switch {
	case e.Type == notify.GateDecided:
		return d.end(ctx)
	case e.Data.Gate == nil:
		if err := d.post(ctx, d.conversation); err != nil {
			return err
		}
		d.have = memo{}
		return d.save(ctx)
	case e.Type == notify.GateOpened, e.Type == notify.EffectUnknown, len(d.have.Posts) == 0 && !d.m.Followed:
		return d.ask(ctx)
	}
	return d.reply(ctx)
}

// ask posts a question where it was not posted.
func (d *delivery) ask(ctx context.Context) error {
	if d.m.Decided && d.have.Sending == nil {
		d.told = len(d.have.Posts) > 0
		return nil // there is nothing to ask any more
	}
	targets, err := d.targets(ctx)
	if err != nil {
		return err
	}
	for _, to := range targets {
		if slices.ContainsFunc(d.have.Posts, func(p post) bool { return p.Conversation == to.conversation }) {
			d.reached(to.person)
			continue
		}
		posts := len(d.have.Posts)
		if err := d.post(ctx, to.conversation); err != nil {
			return err
		}
		if len(d.have.Posts) > posts {
			d.reached(to.person)
		}
	}
	return nil
}

// reached notes that a conversation has the message, and its person: "" where it is a channel.
func (d *delivery) reached(person string) {
	d.told = true
	if person != "" {
		d.m.Reached = append(d.m.Reached, person)
	}
}

// A target is a conversation, and its person where it has direct messages.
type target struct{ conversation, person string }

// targets returns the conversations that a question goes to.
func (d *delivery) targets(ctx context.Context) ([]target, error) {
	var all []target
	if d.conversation != "" {
		all = append(all, target{d.conversation, ""})
	}
	if !d.direct {
		return all, nil
	}
	names := d.m.Event.Data.Gate.Assignees
	if a := d.m.Event.Data.Assignment; a != nil {
		names = a.To
	}
	for _, name := range names {
		id := d.app.member(name)
		if id == "" {
			continue
		}
		with, _, _, err := d.client.OpenConversationContext(ctx, &slack.OpenConversationParameters{Users: []string{id}, ReturnIM: true})
		if err != nil {
			return nil, err
		}
		all = append(all, target{with.ID, name})
	}
	return all, nil
}

// post posts the message, unless an attempt before did.
func (d *delivery) post(ctx context.Context, to string) error {
	if to == "" {
		return nil
	}
	if s := d.have.Sending; s != nil && s.Conversation == to {
		ts, err := d.find(ctx, to, s.At)
		if err != nil {
			return err
		}
		if ts != "" {
			return d.posted(ctx, post{to, ts})
		}
	}
	if d.m.Decided {
		return nil
	}
	d.have.Sending = &sending{to, d.app.now().UTC()}
	if err := d.save(ctx); err != nil {
		return err
	}
	options := append(d.render(), slack.MsgOptionMetadata(slack.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"about": d.about()}}))
	conversation, ts, err := d.client.PostMessageContext(ctx, to, options...)
	if err != nil {
		return err
	}
	return d.posted(ctx, post{conversation, ts})
}

func (d *delivery) posted(ctx context.Context, p post) error {
	d.told = true
	d.have.Sending = nil
	d.have.Posts = append(d.have.Posts, p)
	return d.save(ctx)
}

// metadataType marks what this package posts.
const metadataType = "posthouse_event"

// about names what a message is about, in its metadata: a gate has one message in a conversation.
func (d *delivery) about() string {
	if g := d.m.Event.Data.Gate; g != nil {
		return string(g.ID)
	}
	return d.m.ID
}

// Bounds on a search in a conversation.
const (
	searchPages = 5
	searchPage  = 200
	clockSkew   = 2 * time.Minute
)

// find returns the time stamp of a message that was posted since a time, "" if there is none.
func (d *delivery) find(ctx context.Context, to string, since time.Time) (string, error) {
	p := &slack.GetConversationHistoryParameters{
		ChannelID: to, Limit: searchPage, IncludeAllMetadata: true, Oldest: strconv.FormatInt(since.Add(-clockSkew).Unix(), 10) + ".000000",
	}
	for range searchPages {
		h, err := d.client.GetConversationHistoryContext(ctx, p)
		if code := codeOf(err); code == "missing_scope" || code == "not_in_channel" {
			return "", nil // it may come twice then
		}
		if err != nil {
			return "", err
		}
		for _, m := range h.Messages {
			if m.Metadata.EventType == metadataType && m.Metadata.EventPayload["about"] == d.about() {
				return m.Timestamp, nil
			}
		}
		p.Cursor = h.ResponseMetaData.NextCursor
		if p.Cursor == "" {
			break
		}
	}
	return "", nil
}

// reply says in the thread of each message what happened to its question.
func (d *delivery) reply(ctx context.Context) error {
	for _, p := range d.have.Posts {
		key := d.m.ID + " " + p.Conversation
		if slices.Contains(d.have.Told, key) {
			d.told = true
			continue
		}
		_, _, err := d.client.PostMessageContext(ctx, p.Conversation, append(d.renderNews(), slack.MsgOptionTS(p.TS))...)
		if err != nil && !isGone(err) {
			return err
		}
		d.told = d.told || err == nil
		d.have.Told = append(d.have.Told, key)
		d.have.Told = d.have.Told[max(0, len(d.have.Told)-100):]
		if err := d.save(ctx); err != nil {
			return err
		}
	}
	if a := d.m.Event.Data.Assignment; a != nil && d.direct && !d.m.Followed {
		return d.ask(ctx) // of those who may decide now
	}
	return nil
}

// end says in each message how its question ended, and takes the buttons away.
func (d *delivery) end(ctx context.Context) error {
	if s := d.have.Sending; s != nil {
		ts, err := d.find(ctx, s.Conversation, s.At)
		if err != nil {
			return err
		}
		d.have.Sending = nil
		if ts != "" {
			d.have.Posts = append(d.have.Posts, post{s.Conversation, ts})
		}
	}
	for _, p := range d.have.Posts {
		_, _, _, err := d.client.UpdateMessageContext(ctx, p.Conversation, p.TS, d.render()...)
		if err != nil && !isGone(err) {
			return err
		}
		d.told = d.told || err == nil
	}
	d.have = memo{}
	return d.save(ctx)
}

func (d *delivery) save(ctx context.Context) error {
	if d.have.Posts == nil && d.have.Sending == nil && d.have.Told == nil {
		return d.m.Memo.Save(ctx, nil)
	}
	b, err := json.Marshal(&d.have)
	if err != nil {
		return err
	}
	return d.m.Memo.Save(ctx, b)
}

// codeOf returns the code of an error of the Slack API, "" for another.
func codeOf(err error) string {
	if e, ok := errors.AsType[slack.SlackErrorResponse](err); ok {
		return e.Err
	}
	return ""
}

// isGone reports whether a message cannot be changed any more: people deleted it, or its channel.
func isGone(err error) bool {
	return slices.Contains([]string{"message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found", "is_archived", "thread_not_found"}, codeOf(err))
}

// failure says of an error whether, and when, to try again.
func failure(err error) *notify.Failure {
	if e, ok := errors.AsType[*slack.RateLimitedError](err); ok {
		return &notify.Failure{Message: "Slack asks to wait " + e.RetryAfter.String(), Status: 429, Busy: true, After: e.RetryAfter}
	}
	if e, ok := errors.AsType[slack.StatusCodeError](err); ok {
		return &notify.Failure{Message: "Slack answered " + e.Status, Status: e.Code}
	}
	f := &notify.Failure{Message: err.Error()}
	switch code := codeOf(err); code {
	case "":
		if own, ok := errors.AsType[*posthouse.Error](err); ok {
			f.Message = "what was posted cannot be noted: " + own.Error()
		}
		return f
	case "ratelimited":
		f.Busy, f.After = true, 30*time.Second
	case "invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long", "no_text", "invalid_arguments", "invalid_metadata_format", "metadata_too_large":
		f.Refused = true
	}
	f.Message = "Slack says " + codeOf(err) + hints[codeOf(err)]
	return f
}

// hints say what to do about some errors.
var hints = map[string]string{
	"not_in_channel":    ": invite the app to the channel",
	"channel_not_found": ": the app sees no such channel; invite it, if it is private",
	"is_archived":       ": the channel is archived",
	"missing_scope":     ": the app needs more scopes; docs/slack.md has its manifest",
	"invalid_auth":      ": the token is not valid",
	"token_revoked":     ": the token was revoked; install the app again",
	"account_inactive":  ": the app was removed from the workspace",
}
