package gate

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// MessagePrefix begins each answer that comes as a message of a chat.
const MessagePrefix = "/__approval/"

// A Message is an answer to an approval, sent as a message of a chat:
//
//	/__approval/<id>/<verb>[?by=<name>] [payload]
//
// The verb is approve (or yes), respond, or anything else, which denies. With
// approve a payload holds changed arguments, as a JSON object or within
// {"arguments":{...},"reason":"..."}. With respond it is the answer, as JSON or
// as text; after a denial it is the reason. A malformed message denies.
type Message struct {
	ID      posthouse.ID
	By      string // the person it acts for, "" for the sender
	Verdict posthouse.Verdict
	Value   json.RawMessage // of edit and respond
	Reason  string
}

// ParseMessage reads an answer; false for any other text.
func ParseMessage(text string) (Message, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), MessagePrefix)
	if !ok {
		return Message{}, false
	}
	path, payload := rest, ""
	if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
		path, payload = rest[:i], strings.TrimSpace(rest[i:])
	}
	path, query, _ := strings.Cut(path, "?")
	id, verb, _ := strings.Cut(path, "/")
	m := Message{ID: posthouse.ID(id), Verdict: posthouse.Reject}
	switch strings.ToLower(verb) {
	case "approve", "yes":
		m.approve(payload)
	case "respond":
		m.respond(payload)
	default:
		m.Reason = clip(payload)
	}
	if q, err := url.ParseQuery(query); err != nil {
		m.deny("the query is malformed")
	} else {
		m.By = q.Get("by")
	}
	return m, true
}

func (m *Message) deny(reason string) {
	m.Verdict, m.Value, m.Reason = posthouse.Reject, nil, reason
}

func (m *Message) approve(payload string) {
	if payload == "" {
		m.Verdict = posthouse.Approve
		return
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(payload), &object) != nil || object == nil {
		m.deny("the changed arguments are malformed")
		return
	}
	m.Verdict, m.Value = posthouse.Edit, json.RawMessage(payload)
	arguments, wrapped := object["arguments"]
	reason, why := object["reason"]
	if !wrapped || len(object) > 2 || len(object) == 2 && !why {
		return
	}
	m.Value = arguments
	var inner map[string]json.RawMessage
	if json.Unmarshal(arguments, &inner) != nil || inner == nil || why && json.Unmarshal(reason, &m.Reason) != nil {
		m.deny("the changed arguments are malformed")
	}
	m.Reason = clip(m.Reason)
}

func (m *Message) respond(payload string) {
	switch {
	case payload == "":
		m.deny("the answer is missing")
		return
	case json.Valid([]byte(payload)):
		m.Value = json.RawMessage(payload)
	default:
		m.Value, _ = json.Marshal(payload) // text always encodes
	}
	m.Verdict = posthouse.Respond
}

// clip makes a reason fit for the record.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return s
}
