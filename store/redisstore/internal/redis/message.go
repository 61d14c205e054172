package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// An Error is an answer of the server that refuses a command.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// Errors of a client.
var (
	ErrClosed   = errors.New("redis: the client is closed")
	ErrNil      = errors.New("redis: there is no value")
	ErrKind     = errors.New("redis: the value has another type")
	errProtocol = errors.New("redis: the server does not speak RESP2")
)

// A Message is an answer: a text, a number, a list of messages, or nothing.
type Message struct {
	kind byte // that of RESP2: + - : $ * and 0 for nothing
	text string
	n    int64
	list []Message
}

// IsNil reports whether there is no value.
func (m *Message) IsNil() bool { return m.kind == 0 }

// Err returns the error that the server answered with, or nil.
func (m *Message) Err() error {
	if m.kind == '-' {
		return &Error{m.text}
	}
	return nil
}

// is returns nil if the message is of one of the kinds.
func (m *Message) is(kinds ...byte) error {
	for _, k := range kinds {
		if m.kind == k {
			return nil
		}
	}
	switch m.kind {
	case '-':
		return m.Err()
	case 0:
		return ErrNil
	}
	return ErrKind
}

// Text returns a text.
func (m *Message) Text() (string, error) {
	if err := m.is('+', '$'); err != nil {
		return "", err
	}
	return m.text, nil
}

// Int returns a number, also one that came as a text.
func (m *Message) Int() (int64, error) {
	if err := m.is(':', '+', '$'); err != nil || m.kind == ':' {
		return m.n, err
	}
	n, err := strconv.ParseInt(m.text, 10, 64)
	if err != nil {
		return 0, ErrKind
	}
	return n, nil
}

// List returns the elements of a list.
func (m *Message) List() ([]Message, error) {
	if err := m.is('*'); err != nil {
		return nil, err
	}
	return m.list, nil
}

// Texts returns a list of texts, "" for an element that is not there.
func (m *Message) Texts() ([]string, error) {
	if err := m.is('*'); err != nil {
		return nil, err
	}
	texts := make([]string, len(m.list))
	for i := range m.list {
		if err := m.list[i].is('+', '$', 0); err != nil {
			return nil, err
		}
		texts[i] = m.list[i].text
	}
	return texts, nil
}

// Map returns a list of names, each with its text, as a map.
func (m *Message) Map() (map[string]string, error) {
	texts, err := m.Texts()
	if err != nil {
		return nil, err
	}
	if len(texts)%2 != 0 {
		return nil, ErrKind
	}
	pairs := make(map[string]string, len(texts)/2)
	for i := 0; i < len(texts); i += 2 {
		pairs[texts[i]] = texts[i+1]
	}
	return pairs, nil
}

// Scan returns the answer of a scan: the next cursor, "0" at the end, and the elements.
func (m *Message) Scan() (cursor string, elements []string, err error) {
	if err := m.is('*'); err != nil {
		return "", nil, err
	}
	if len(m.list) != 2 {
		return "", nil, ErrKind
	}
	cursor, err = m.list[0].Text()
	if err == nil {
		elements, err = m.list[1].Texts()
	}
	return cursor, elements, err
}

// Bounds of what a server may send.
const (
	maxText  = 512 << 20
	maxDepth = 8
)

// read reads one message.
func read(r *bufio.Reader, depth int) (m Message, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return m, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' || depth > maxDepth {
		return m, errProtocol
	}
	kind, rest := line[0], string(line[1:len(line)-2])
	m.kind = kind
	if kind == '+' || kind == '-' {
		m.text = rest
		return m, nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return m, fmt.Errorf("%w: %.80q", errProtocol, rest)
	}
	switch {
	case kind == ':':
		m.n = n
	case (kind == '$' || kind == '*') && n == -1:
		m.kind = 0
	case kind == '$' && n >= 0 && n <= maxText:
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return m, err
		}
		if string(b[n:]) != "\r\n" {
			return m, errProtocol
		}
		m.text = string(b[:n])
	case kind == '*' && n >= 0:
		m.list = make([]Message, 0, min(n, 1024))
		for range n {
			e, err := read(r, depth+1)
			if err != nil {
				return m, err
			}
			m.list = append(m.list, e)
		}
	default:
		return m, fmt.Errorf("%w: %c%.80q", errProtocol, kind, rest)
	}
	return m, nil
}

// write writes a command.
func write(w *bufio.Writer, words []string) {
	number := func(kind byte, n int) {
		_ = w.WriteByte(kind) // a bufio.Writer keeps its first error for Flush
		_, _ = w.Write(strconv.AppendInt(w.AvailableBuffer(), int64(n), 10))
		_, _ = w.WriteString("\r\n")
	}
	number('*', len(words))
	for _, word := range words {
		number('$', len(word))
		_, _ = w.WriteString(word)
		_, _ = w.WriteString("\r\n")
	}
}
