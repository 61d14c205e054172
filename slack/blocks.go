package slack

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/slack-go/slack"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/notify/card"
)

// limits are what fits into blocks, which are bounded in characters; with room for the words of a cut.
var limits = card.Limits{Text: 2900, Value: 1900, Fields: 40}

// maxHeader bounds the text of a header, in characters.
const maxHeader = 150

// A press is what a button says, as its value. Verdict is empty where a person chooses it in a modal.
type press struct {
	Gate    posthouse.ID      `json:"gate"`
	Shown   posthouse.Hash    `json:"shown"`
	Verdict posthouse.Verdict `json:"verdict"`
}

// Beginnings of the action IDs of the buttons: of all, and after it of those that open a modal.
const (
	actionPrefix = "posthouse."
	formPrefix   = "form."
)

// plain returns text that Slack shows as it is: without markup, links, mentions and emoji, and with marks for what
// people would not see.
func plain(s string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, cmp.Or(text.Visible(s), "–"), false, false)
}

func section(s string) slack.Block { return slack.NewSectionBlock(plain(s), nil, nil) }

// render returns the whole message.
func (d *delivery) render() []slack.MsgOption {
	c := card.Of(d.m.Event, &limits)
	var blocks []slack.Block
	if len(c.Title) <= maxHeader {
		blocks = append(blocks, slack.NewHeaderBlock(plain(c.Title)))
	} else {
		blocks = append(blocks, section(c.Title))
	}
	for _, s := range []string{c.Outcome, c.News, c.Warning, c.Text} {
		if s != "" {
			blocks = append(blocks, section(s))
		}
	}
	blocks = append(blocks, pairs(c.Fields)...)
	if len(c.Facts) > 0 {
		var facts []slack.MixedElement
		for _, f := range c.Facts {
			facts = append(facts, plain(f.Label+": "+f.Value))
		}
		blocks = append(blocks, slack.NewContextBlock("", facts...))
	}
	if buttons := d.buttons(c); len(buttons) > 0 {
		if !c.Whole && d.m.Event.Data.Decision == nil {
			blocks = append(blocks, section("Not all is shown here. Open the question to read the whole and decide."))
		}
		blocks = append(blocks, slack.NewActionBlock("", buttons...))
	}
	return message(c.Title, blocks)
}

// pairs returns fields with labels and values as texts of their own, so that no value looks like another field.
func pairs(fields []card.Field) (blocks []slack.Block) {
	for some := range slices.Chunk(fields, 5) {
		var texts []*slack.TextBlockObject
		for _, f := range some {
			texts = append(texts, plain(f.Label), plain(f.Value))
		}
		blocks = append(blocks, slack.NewSectionBlock(nil, texts, nil))
	}
	return blocks
}

// renderNews returns a reply to the message about a question.
func (d *delivery) renderNews() []slack.MsgOption {
	c := card.Of(d.m.Event, &limits)
	news := cmp.Or(c.News, "This question still waits")
	return message(news, []slack.Block{section(news)})
}

// message returns blocks with the text of notifications.
func message(short string, blocks []slack.Block) []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionText(text.Visible(short), true), slack.MsgOptionBlocks(blocks...), slack.MsgOptionDisableMarkdown(),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
}

// buttons returns those of an open question. What is not shown whole can be decided only on its page.
func (d *delivery) buttons(c *card.Card) (all []slack.BlockElement) {
	g := d.m.Event.Data.Gate
	if g == nil {
		return nil
	}
	if d.m.Event.Data.Decision == nil && c.Whole && d.app.answers() {
		label := func(v posthouse.Verdict) (says string) {
			for _, a := range g.Answers {
				if a.Verdict == v && !a.Page {
					says = a.Label
				}
			}
			return says
		}
		takes := func(v posthouse.Verdict) bool { return label(v) != "" }
		for _, b := range []struct {
			action, label string
			verdict       posthouse.Verdict
			style         slack.Style
			takes         bool
		}{
			{"approve", label(posthouse.Approve), posthouse.Approve, slack.StylePrimary, takes(posthouse.Approve)},
			{"reject", label(posthouse.Reject), posthouse.Reject, slack.StyleDanger, takes(posthouse.Reject)},
			{formPrefix + "reason", "With a reason …", "", "", takes(posthouse.Approve) || takes(posthouse.Reject)},
			{formPrefix + "edit", "Change …", posthouse.Edit, "", takes(posthouse.Edit)},
			{formPrefix + "respond", "Answer …", posthouse.Respond, "", takes(posthouse.Respond)},
		} {
			value, err := json.Marshal(&press{g.ID, g.Shown, b.verdict})
			if err != nil || !b.takes {
				continue
			}
			all = append(all, slack.NewButtonBlockElement(actionPrefix+b.action, string(value), plain(b.label)).WithStyle(b.style))
		}
	}
	if g.Link != "" {
		all = append(all, slack.NewButtonBlockElement(actionPrefix+"open", "", plain("Open")).WithURL(g.Link))
	}
	return all
}
