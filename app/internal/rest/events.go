package rest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"iter"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// An Event is one server-sent event.
type Event struct {
	Name string // "message" unless the server says otherwise
	ID   string
	Data []byte
}

// maxEvent bounds one line of a stream, in bytes.
const maxEvent = 16 << 20

// Stream sends body as JSON and yields the events of the answer until it ends. An
// error answer is yielded as its error.
func (c *Client) Stream(ctx context.Context, method, path string, query url.Values, body any) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		resp, err := c.send(ctx, method, path, query, body, "text/event-stream")
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		if ct := resp.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
			yield(nil, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: c.Base + " does not stream here"})
			return
		}
		for ev, err := range events(resp.Body) {
			if err != nil {
				err = c.unreachable(err)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// events parses a stream as the HTML standard says, comments dropped. An event
// cut off by the end of the stream is dropped too.
func events(r io.Reader) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		sc := bufio.NewScanner(r)
		sc.Buffer(make([]byte, 0, 64<<10), maxEvent)
		ev := &Event{Name: "message"}
		var data [][]byte
		for sc.Scan() {
			line := bytes.TrimSuffix(sc.Bytes(), []byte("\r"))
			if len(line) == 0 {
				if len(data) > 0 {
					ev.Data = append([]byte{}, bytes.Join(data, []byte("\n"))...) // never nil
					if !yield(ev, nil) {
						return
					}
				}
				ev, data = &Event{Name: "message", ID: ev.ID}, nil
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
