package wire

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// A Call sends a request and returns the reply. An error says that there was no reply.
type Call func(ctx context.Context, method string, body []byte) ([]byte, error)

// A Client is a [task.Engine] reached over a transport.
type Client struct{ call Call }

var _ task.Engine = (*Client)(nil)

// NewClient returns the engine that call reaches.
func NewClient(call Call) *Client { return &Client{call} }

// do makes a call. Without a reply, or with one that does not parse, the error is
// [posthouse.ErrUnavailable].
func (c *Client) do(ctx context.Context, method string, in TaskRequest) (out Reply, err error) {
	body, err := encode(in)
	if err != nil {
		return out, posthouse.Invalid("request", "does not encode: %v", err)
	}
	if len(body) > MaxRequest {
		return out, posthouse.TooLarge("request", len(body), MaxRequest)
	}
	b, err := c.call(ctx, method, body)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	var own *posthouse.Error
	if errors.As(err, &own) {
		return Reply{}, own
	}
	if err != nil {
		return Reply{}, &posthouse.Error{
			Code: posthouse.CodeUnavailable, Message: "the engine gave no answer to " + method, Err: err, Hint: "try again: a call that is repeated does the same",
		}
	}
	if out.Error != nil {
		return Reply{}, out.Error
	}
	return out, nil
}

// Connect implements [task.Engine].
func (c *Client) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	out, err := c.do(ctx, Connect, TaskRequest{Hello: &h})
	if err == nil && out.Session == nil {
		err = noResult(Connect)
	}
	return out.Session, err
}

// Claim implements [task.Engine].
func (c *Client) Claim(ctx context.Context, session string) (*task.Claim, error) {
	out, err := c.do(ctx, Claim, TaskRequest{Session: session})
	return out.Claim, err
}

// Heartbeat implements [task.Engine].
func (c *Client) Heartbeat(ctx context.Context, session string, have []task.ClaimID) (*task.Pulse, error) {
	out, err := c.do(ctx, Heartbeat, TaskRequest{Session: session, Have: have})
	if err == nil && out.Pulse == nil {
		err = noResult(Heartbeat)
	}
	return out.Pulse, err
}

// Load implements [task.Engine].
func (c *Client) Load(ctx context.Context, id task.ClaimID) ([]byte, error) {
	out, err := c.do(ctx, Load, TaskRequest{Claim: &id})
	if err != nil || !out.Saved {
		return nil, err
	}
	return append([]byte{}, out.Value...), nil
}

// Save implements [task.Engine].
func (c *Client) Save(ctx context.Context, id task.ClaimID, n uint64, value []byte) error {
	_, err := c.do(ctx, Save, TaskRequest{Claim: &id, N: n, Value: value})
	return err
}

// Signal implements [task.Engine].
func (c *Client) Signal(ctx context.Context, id task.ClaimID, thread string, s posthouse.Signal) error {
	_, err := c.do(ctx, Signal, TaskRequest{Claim: &id, Thread: thread, Signal: &s})
	return err
}

// Stream implements [task.Engine].
func (c *Client) Stream(ctx context.Context, id task.ClaimID, chunk json.RawMessage) error {
	_, err := c.do(ctx, Stream, TaskRequest{Claim: &id, Chunk: chunk})
	return err
}

// Records implements [task.Engine].
func (c *Client) Records(ctx context.Context, id task.ClaimID, after string) (*task.Records, error) {
	out, err := c.do(ctx, Records, TaskRequest{Claim: &id, After: after})
	if err == nil && out.Records == nil {
		err = noResult(Records)
	}
	return out.Records, err
}

// Record implements [task.Engine].
func (c *Client) Record(ctx context.Context, id task.ClaimID, r task.StepResult) error {
	_, err := c.do(ctx, Record, TaskRequest{Claim: &id, Step: &r})
	return err
}

// Begin implements [task.Engine].
func (c *Client) Begin(ctx context.Context, id task.ClaimID, b task.Beginning) (*task.Begun, error) {
	out, err := c.do(ctx, Begin, TaskRequest{Claim: &id, Begin: &b})
	if err == nil && out.Begun == nil {
		err = noResult(Begin)
	}
	return out.Begun, err
}

// End implements [task.Engine].
func (c *Client) End(ctx context.Context, id task.ClaimID, e task.Ending) error {
	_, err := c.do(ctx, End, TaskRequest{Claim: &id, End: &e})
	return err
}

// Resolve implements [task.Engine].
func (c *Client) Resolve(ctx context.Context, id task.ClaimID, v task.Verdict) error {
	b, err := encode(v)
	if err != nil {
		return posthouse.Invalid("verdict", "does not encode: %v", err)
	}
	_, err = c.do(ctx, Resolve, TaskRequest{Claim: &id, Verdict: b})
	return err
}

// Disconnect implements [task.Engine].
func (c *Client) Disconnect(ctx context.Context, session string) error {
	_, err := c.do(ctx, Disconnect, TaskRequest{Session: session})
	return err
}

func noResult(method string) error {
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the engine's answer to " + method + " is empty", Hint: "use the same release on both sides"}
}
