package client

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"iter"
	"net/url"
)

// A message is one server-sent event.
type message struct {
	Name string // "message" unless the server says otherwise
	ID   string
	Data []byte
}

// maxEvent bounds one line of a stream, in bytes.
const maxEvent = 16 << 20

// A Frame is one server-sent event of a stream that is not one of events: of an agent's answer.
type Frame struct {
	Name string // the event
	ID   string // to go on from it
	Data []byte // JSON
}

// Stream sends body as JSON and yields the frames of the answer until it ends. An
// error answer is yielded as its error.
func (c *Client) Stream(ctx context.Context, method, path string, query url.Values, body any) iter.Seq2[*Frame, error] {
	return func(yield func(*Frame, error) bool) {
		r, err := newRequest(method, path, query, body)
		if err != nil {
			yield(nil, err)
			return
		}
		r.accept = "text/event-stream"
		resp, err := c.send(ctx, c.opt.Retries, r)
		if err == nil {
			err = c.streams(resp)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		for m, err := range messages(resp.Body) {
			if err != nil {
				yield(nil, c.unreachable(err))
				return
			}
			if m.Data != nil && !yield(&Frame{m.Name, m.ID, m.Data}, nil) {
				return
			}
		}
	}
}

// messages parses a stream as the HTML standard says, comments dropped. One
// cut off by the end of the stream is dropped too. An id without data is a message without data.
func messages(r io.Reader) iter.Seq2[*message, error] {
	return func(yield func(*message, error) bool) {
		sc := bufio.NewScanner(r)
		sc.Buffer(make([]byte, 0, 64<<10), maxEvent)
		ev := &message{Name: "message"}
		var data [][]byte
		last := "" // id
		for sc.Scan() {
			line := bytes.TrimSuffix(sc.Bytes(), []byte("\r"))
			if len(line) == 0 {
				if len(data) > 0 {
					ev.Data = append([]byte{}, bytes.Join(data, []byte("\n"))...) // never nil
				}
				if (len(data) > 0 || ev.ID != last) && !yield(ev, nil) {
					return
				}
				last = ev.ID
				ev, data = &message{Name: "message", ID: last}, nil
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(name) {
			case "event":
				ev.Name = string(value)
			case "id":
				ev.ID = string(value)
			case "data":
				data = append(data, bytes.Clone(value))
			}
		}
		if err := sc.Err(); err != nil {
			yield(nil, err)
		}
	}
}
