package coord

import (
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
)

// A Frame is one item of a session's stream. Exactly one of Text, Event and
// Reply is set, by its type.
type Frame struct {
	Type  string `json:"type"` // "text", "event" or "reply"
	Text  string `json:"text,omitempty"`
	Event *Event `json:"event,omitempty"`
	Reply *Reply `json:"reply,omitempty"`
}

// A Session streams to a client. A nil Session, or one without its client, sends
// nothing: a run never fails because it has no listener. While a handler is executed
// again over what is on record, its session is silent. It may be used from many
// goroutines; frames are sent one by one.
type Session struct {
	mu     sync.Mutex
	send   func(Frame) error
	silent func() bool
	gone   error
	text   strings.Builder
}

// NewSession returns a session that passes each frame to send. After its first error send
// is not called again. It is called under a lock and should not block.
func NewSession(send func(Frame) error) *Session { return &Session{send: send} }

// Stream sends text, a line of its own.
func (s *Session) Stream(text string) {
	if s == nil || text == "" || s.silent != nil && s.silent() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
	s.text.WriteString(text)
	s.emit(Frame{Type: "text", Text: text})
}

// Event sends an event.
func (s *Session) Event(e Event) {
	if s == nil {
		return
	}
	e = e.clone()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(Frame{Type: "event", Event: &e})
}

// Gone returns the error with which the client went away, nil while it is
// there.
func (s *Session) Gone() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// Text returns what was streamed, each text on a line of its own.
func (s *Session) Text() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *Session) reply(r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(Frame{Type: "reply", Reply: &r})
}

func (s *Session) emit(f Frame) {
	if s.send != nil && s.gone == nil {
		s.gone = s.send(f)
	}
}

// A Reply says where a request stands.
type Reply struct {
	Thread     string           `json:"thread"`
	Checkpoint posthouse.ID     `json:"checkpoint,omitempty"` // the branch's head
	Status     posthouse.Status `json:"status"`
	Gate       posthouse.ID     `json:"gate,omitempty"`  // the question it waits for: the first of Gates
	Gates      []posthouse.ID   `json:"gates,omitempty"` // all of them
	Text       string           `json:"text"`            // what this execution streamed
}
