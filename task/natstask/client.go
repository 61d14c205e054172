package natstask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/wire"
)

// NewEngine returns the engine that a connection leads to. It fails with
// [posthouse.ErrInvalid] for a bad prefix; whether an engine is there shows at the first call.
func NewEngine(conn *nats.Conn, o *Options) (task.Engine, error) {
	prefix, err := o.prefix()
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, prefix: prefix, calls: map[string]chan *nats.Msg{}}
	if o != nil && o.Worker != "" {
		if err := posthouse.ValidateName("Worker", o.Worker); err != nil {
			return nil, err
		}
		c.fixed = Token(o.Worker)
	}
	return &engine{wire.NewClient(c.call), c}, nil
}

// An engine is what a client reaches, under the name that its worker says.
type engine struct {
	*wire.Client
	client *client
}

// Connect implements [task.Engine].
func (e *engine) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	if posthouse.ValidateName("worker", h.Worker) == nil { // otherwise the engine refuses it
		if err := e.client.begin(Token(h.Worker)); err != nil {
			return nil, err
		}
	}
	return e.Client.Connect(ctx, h)
}

type client struct {
	conn   *nats.Conn
	prefix string
	fixed  string // the token of Options.Worker

	mu      sync.Mutex
	worker  string // its token, in subjects
	engine  string // that answered last; "" is any
	answers string // the subject of its answers, up to the number of a call
	last    uint64
	calls   map[string]chan *nats.Msg // that wait, by the subject of the answer
}

// begin subscribes to the answers of a worker. The first name is that of all calls.
func (c *client) begin(worker string) error {
	worker = cmp.Or(c.fixed, worker)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worker != "" {
		return nil
	}
	answers := answersOf(c.prefix, worker) + nats.NewInbox()[len(nats.InboxPrefix):] + "."
	if _, err := c.conn.Subscribe(answers+"*", c.receive); err != nil { // as long as the connection
		return unavailable("subscribe to answers", err)
	}
	c.worker, c.answers = worker, answers
	return nil
}

// receive hands an answer to the call that waits for it.
func (c *client) receive(m *nats.Msg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answered := c.calls[m.Subject]; answered != nil {
		delete(c.calls, m.Subject)
		answered <- m
	}
}

// inReplies is what a reply may have beside what a request brought, in bytes. A request leaves
// room for it: what is saved or recorded shall be readable.
const inReplies = 4 << 10

// call sends a request to the engine that answered last, or to any.
func (c *client) call(ctx context.Context, method string, body []byte) ([]byte, error) {
	if most := c.conn.MaxPayload(); int64(len(body)+inReplies) > most && most > 0 {
		return nil, tooLarge("request", len(body)+inReplies, most)
	}
	if err := c.begin("worker"); err != nil { // a call before the first session
		return nil, err
	}
	c.mu.Lock()
	engine := c.engine
	c.mu.Unlock()
	r, err := c.request(ctx, cmp.Or(engine, anyEngine), method, body)
	if errors.Is(err, nats.ErrNoResponders) && engine != "" {
		c.meet(engine, "")
		r, err = c.request(ctx, anyEngine, method, body)
	}
	if err != nil {
		c.meet(engine, "") // another may answer
		return nil, err
	}
	if err := c.sameCluster(r.Header.Get(clusterHeader)); err != nil {
		return nil, err
	}
	if name := r.Header.Get(engineHeader); name != "" && Token(name) == name {
		c.meet(engine, name)
	}
	return r.Data, nil
}

// meet notes the engine that answered in the place of the one before.
func (c *client) meet(before, engine string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.engine == before {
		c.engine = engine
	}
}

// noResponders is the status of an answer of the server: the subject of the request has no
// subscriber.
const noResponders = "503"

// lookTime is between two looks whether the connection was lost while a call waits.
const lookTime = time.Second

// errReconnected ends a call with a request or an answer that may have been lost with the connection. A
// claim would wait for half a minute otherwise, and its worker have nothing to do.
var errReconnected = errors.New("the connection was lost meanwhile")

// request sends a request and waits for its answer. If the connection is lost and made again
// while it waits, it waits no longer than two looks.
func (c *client) request(ctx context.Context, engine, method string, body []byte) (*nats.Msg, error) {
	answered := make(chan *nats.Msg, 1)
	c.mu.Lock()
	c.last++
	reply := c.answers + strconv.FormatUint(c.last, 10)
	c.calls[reply] = answered
	subject := taskSubject(c.prefix, c.worker, engine, method)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, reply)
	}()
	connected := c.conn.Stats().Reconnects
	if err := c.conn.PublishRequest(subject, reply, body); err != nil {
		return nil, err
	}
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for lost := false; ; {
		select {
		case m := <-answered:
			if len(m.Data) == 0 && m.Header.Get("Status") == noResponders {
				return nil, nats.ErrNoResponders
			}
			return m, nil
		case <-look.C:
			if lost {
				return nil, errReconnected
			}
			lost = c.conn.Stats().Reconnects != connected
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// sameCluster refuses an engine in another cluster: the call has crossed a gateway, or a
// leaf node between clusters.
func (c *client) sameCluster(theirs string) error {
	ours := c.conn.ConnectedClusterName()
	if ours == "" || theirs == "" || ours == theirs {
		return nil
	}
	return &posthouse.Error{
		Code:    posthouse.CodeUnsupported,
		Message: fmt.Sprintf("the engine is in the NATS cluster %.100q and this worker in %.100q: superclusters are not supported", theirs, ours),
		Hint:    "connect both to one cluster: leases of seconds need its short ways, and over gateways they are not proved",
	}
}
