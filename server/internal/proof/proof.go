package proof

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/transfer"
)

// A Proof is the resources. Make it with [New].
type Proof struct {
	ledger *ledger.Ledger
	ring   func() (*sign.Ring, error)
	life   *limit.Lifetime
	now    func() time.Time
	jobs   jobs
}

// New returns the resources of a Ledger. Ring returns the public keys; nil: there are no keys here, and
// signatures are counted, not checked.
func New(l *ledger.Ledger, ring func() (*sign.Ring, error), life *limit.Lifetime, now func() time.Time) *Proof {
	return &Proof{ledger: l, ring: ring, life: life, now: now}
}

// Routes are the lines of the table.
func (p *Proof) Routes() []*api.Route {
	const path = "/api/verifications"
	one := []api.Answer{{Status: http.StatusOK, Help: "the verification", Body: Verification{}}}
	return []*api.Route{
		p.entryRoute(),
		{
			Method: http.MethodPost, Path: path, Role: tokens.Operator, Summary: "Verify the store", Handle: api.Take(p.begin), Body: verifyBody{}, MaxBody: maxWitness * 5 / 4,
			Notes:   "Walks every thread, or one: hashes, chains, signatures, and whether summaries and index agree with the log. It is a job: ask for its progress and its report by its id. One runs at a time; 423 names it.",
			Answers: []api.Answer{{Status: http.StatusAccepted, Help: "it has begun", Body: Verification{}}},
		},
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List verifications", Handle: api.All(p.list), Query: []api.Param{api.FieldsParam()},
			Notes:   "Those of this process, the newest first, without their reports. A restart forgets them.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the newest 20", Body: api.List[Verification]{}}},
		},
		{Method: http.MethodGet, Path: path + "/{id}", Role: tokens.Viewer, Summary: "Show a verification", Handle: api.Show(p.show), Notes: "With its progress, and its report once it is done, which lists the first 100 faults and counts all of them by kind.", Answers: one},
		{
			Method: http.MethodGet, Path: path + "/{id}/faults", Role: tokens.Viewer, Summary: "List the faults that a verification found", Handle: p.faults,
			Query: []api.Param{
				{Name: "kind", Kind: api.EnumParam, Values: faultKinds(), Help: "of this kind"}, {Name: "limit", Kind: api.IntParam, Max: maxFaults, Def: "100", Help: "how many"},
				{Name: "cursor", Kind: api.TextParam, Help: "go on after this: next of the page before"},
			},
			Notes:   "In the order in which they were found.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of faults", Body: api.List[sign.Fault]{}}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}/since", Role: tokens.Viewer, Summary: "Count what came after a verification", Handle: api.Show(p.since),
			Notes:   "Entries that it did not see, of threads that are there now. At most 2,000 threads are looked at, those with the newest entries.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "what is not verified", Body: Since{}}},
		},
		{Method: http.MethodDelete, Path: path + "/{id}", Role: tokens.Operator, Summary: "Cancel a verification", Handle: api.Show(p.cancel), Notes: "One that has ended stays as it is.", Answers: one},
		{
			Method: http.MethodGet, Path: "/api/keys", Role: tokens.Viewer, Summary: "List public keys", Handle: api.All(p.keys), Query: []api.Param{api.FieldsParam()},
			Notes:   "They check the signatures on record, here and offline: posthouse verify --key FILE. Retired ones are among them.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the keys", Body: api.List[Key]{}}},
		},
		{
			Method: http.MethodGet, Path: "/api/witness", Role: tokens.Operator, Style: api.Stream, Summary: "Sign where every thread ends", Handle: p.witness,
			Notes:   "A statement to keep elsewhere: posthouse verify --witness FILE finds a store that was put back to an older state.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the signed statement, a DSSE envelope", Media: mediaWitness}},
		},
		{
			Method: http.MethodGet, Path: "/api/threads/{id}/export", Role: tokens.Operator, Style: api.Stream, Summary: "Export a thread", Handle: p.export,
			Notes:   "As it is: entries, hashes, signatures and slots, for posthouse thread import and for whoever verifies it. It is as secret as the store. A failure on the way breaks the connection off, and the file has no end.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the thread as a file; docs/format.md has its format", Media: "application/octet-stream"}},
		},
	}
}

type verifyBody struct {
	Thread        string `json:"thread,omitempty" doc:"only this thread; all unless given"`
	RequireGrants bool   `json:"requireGrants,omitempty" doc:"an effect on the world that nobody approved is a fault"`
	AllowUnsigned bool   `json:"allowUnsigned,omitempty" doc:"what no signature covers is no fault"`
	Witness       string `json:"witness,omitempty" doc:"what GET /api/witness gave at an earlier time, as a text of at most 16 MiB: a store that was put back to an older state has faults"`
}

func (p *Proof) begin(w http.ResponseWriter, r *api.Request, b *verifyBody) error {
	ring, err := p.publicKeys()
	if err != nil {
		return err
	}
	if b.Thread != "" {
		if _, err := p.ledger.Thread(r.Context(), b.Thread); err != nil {
			return err
		}
	}
	var head *sign.Head
	if b.Witness != "" {
		head, err = p.readWitness(b.Witness, ring)
		if err != nil {
			return err
		}
	}
	leave, err := p.life.Enter()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(p.life.Context())
	v := &Verification{ID: p.ledger.Core().NewID(), State: Running, By: r.Actor.Name, Thread: b.Thread, Started: p.now().UTC()}
	if err := p.jobs.begin(v, cancel); err != nil {
		cancel()
		leave()
		return err
	}
	if head != nil {
		v.Witness = &Seen{At: head.At, Threads: len(head.Threads), Key: head.KeyID}
	}
	o := &sign.VerifyOptions{Thread: b.Thread, Witness: head, RequireSigned: len(ring.Keys()) > 0 && !b.AllowUnsigned, RequireGrants: b.RequireGrants, Concurrency: 1}
	tails := map[string]uint64{}
	o.Progress = func(t *sign.ThreadReport) {
		if len(tails) == maxTails {
			tails = nil
		}
		if tails != nil {
			tails[t.Thread] = t.Last
		}
	}
	o.Walked = func(at sign.Verified) {
		p.jobs.update(func() { v.Threads, v.Entries, v.Bytes = at.Threads, at.Entries, at.Bytes })
	}
	began := *v
	go func() {
		defer leave()
		report, err := sign.Verify(ctx, p.ledger.Store(), ring, o)
		p.jobs.remember(v, tails)
		p.end(ctx, v, report, err)
		cancel()
	}()
	w.Header().Set("Location", "/api/verifications/"+string(began.ID))
	return api.WriteJSON(w, http.StatusAccepted, &began)
}

// maxWitness bounds a witness that is sent, in bytes: it has about a hundred thousand threads.
const maxWitness = 16 << 20

// readWitness reads a witness and checks its signature.
func (p *Proof) readWitness(text string, ring *sign.Ring) (*sign.Head, error) {
	if len(text) > maxWitness {
		e := posthouse.TooLarge("witness", len(text), maxWitness)
		return nil, e
	}
	head, err := statement.ParseHead([]byte(text), ring)
	if e, ok := errors.AsType[*posthouse.Error](err); ok {
		c := *e
		c.Field = "witness"
		c.Hint = cmp.Or(c.Hint, "send the file as GET /api/witness or posthouse witness wrote it; GET /api/keys lists the keys that may have signed it")
		if !isWitness(text) {
			c.Message = "is another file: a witness says where every thread ends, and this one does not"
			c.Hint = "choose the file that Download a witness gave on the page Keys and witness, or that posthouse witness wrote"
		}
		return nil, &c
	}
	return head, err
}

// isWitness reports whether a text is a witness, whoever signed it and whether it is as it was.
func isWitness(text string) bool {
	var e struct{ PayloadType, Payload string }
	return json.Unmarshal([]byte(text), &e) == nil && e.PayloadType == mediaWitness && e.Payload != ""
}

const mediaWitness = "application/vnd.posthouse.head+json"

// end notes what a verification found.
func (p *Proof) end(ctx context.Context, v *Verification, report *sign.Report, err error) {
	p.jobs.update(func() {
		at := p.now().UTC()
		v.Ended, p.jobs.running = &at, nil
		switch {
		case ctx.Err() != nil:
			v.State = Cancelled
		case err != nil:
			v.State, v.Problem = Failed, problem.Client(err).Message
		default:
			v.State, v.Report, v.OK, v.Faults = Done, report, report.OK(), kindsOf(report.Faults)
			v.Threads, v.Entries, v.Bytes = report.Threads, report.Entries, report.Bytes
		}
	})
}

func (p *Proof) list(*api.Request) ([]Verification, error) { return p.jobs.list(), nil }

func (p *Proof) found(r *api.Request) (*Verification, error) {
	v := p.jobs.find(r.ID("id"))
	if v == nil {
		e := problem.NotFound("verification", string(r.ID("id")))
		e.Hint = "they are kept in the memory of the server that ran them, the newest 20"
		return nil, e
	}
	return v, nil
}

func (p *Proof) show(r *api.Request) (*Verification, error) {
	v, err := p.found(r)
	if err != nil {
		return nil, err
	}
	return v.bounded(), nil
}

func (p *Proof) cancel(r *api.Request) (*Verification, error) {
	v, err := p.show(r)
	if err != nil || v.State != Running {
		return v, err
	}
	p.jobs.update(func() {
		if stop := p.jobs.running; stop != nil {
			stop()
		}
	})
	return p.show(r)
}

// publicKeys returns the ring, an empty one where there are no keys.
func (p *Proof) publicKeys() (*sign.Ring, error) {
	if p.ring == nil {
		return new(sign.Ring), nil
	}
	ring, err := p.ring()
	if errors.Is(err, posthouse.ErrNotFound) {
		return new(sign.Ring), nil
	}
	return ring, err
}

// A Key is a public key that signatures are checked with.
type Key struct {
	ID        string     `json:"id" doc:"the name that signatures have for it"`
	PEM       string     `json:"pem" doc:"the Ed25519 key, as in a file of public keys"`
	NotBefore *time.Time `json:"notBefore,omitempty" doc:"when it came into use"`
	NotAfter  *time.Time `json:"notAfter,omitempty" doc:"when it was retired; absent: it is in use"`
	Signs     bool       `json:"signs" doc:"this server signs with it"`
}

func (p *Proof) keys(*api.Request) ([]Key, error) {
	ring, err := p.publicKeys()
	if err != nil {
		return nil, err
	}
	own := ""
	if s := p.ledger.Core().Config.Signer; s != nil {
		own = s.KeyID()
	}
	var all []Key
	text, err := ring.MarshalText()
	if err != nil {
		return nil, err
	}
	blocks := split(text)
	for i, k := range ring.Keys() {
		v := Key{ID: k.ID, Signs: k.ID == own}
		if i < len(blocks) {
			v.PEM = blocks[i]
		}
		if !k.NotBefore.IsZero() {
			v.NotBefore = &k.NotBefore
		}
		if !k.NotAfter.IsZero() {
			v.NotAfter = &k.NotAfter
		}
		all = append(all, v)
	}
	return all, nil
}

// split returns the keys of a file of public keys, each with its times.
func split(text []byte) (blocks []string) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return blocks
		}
		blocks = append(blocks, strings.TrimSpace(string(text[:len(text)-len(rest)]))+"\n")
		text = rest
	}
}

func (p *Proof) witness(w http.ResponseWriter, r *api.Request) error {
	signer := p.ledger.Core().Config.Signer
	if signer == nil {
		return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this server has no signing key", Hint: "start it with one, or run posthouse witness where the key is"}
	}
	head, err := statement.Witness(r.Context(), p.ledger.Store(), signer, &statement.WitnessOptions{Now: p.now})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaWitness)
	h.Set("Content-Disposition", `attachment; filename="head.json"`)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(head.Envelope) // the client may be gone
	return nil
}

// A download passes a file on. Its headers go out with its first byte, so that a failure before
// that is a problem.
type download struct {
	w      http.ResponseWriter
	now    func() time.Time
	thread string
	begun  bool
}

// maxFileName bounds the name of a file without its ending, in bytes.
const maxFileName = 100

// fileName names the file of a thread by characters that every file system takes.
func fileName(thread string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			return c
		}
		return '-'
	}, thread)
	name = strings.Trim(name[:min(len(name), maxFileName)], ".-")
	return cmp.Or(name, "thread") + ".posthouse"
}

func (d *download) Write(data []byte) (int, error) {
	if !d.begun {
		d.begun = true
		d.w.Header().Set("Content-Type", "application/octet-stream")
		d.w.Header().Set("Content-Disposition", `attachment; filename="`+fileName(d.thread)+`"`)
		d.w.WriteHeader(http.StatusOK)
	}
	rc := http.NewResponseController(d.w)
	_ = rc.SetWriteDeadline(d.now().Add(api.WriteTimeout)) // not supported by test recorders, which never block
	return d.w.Write(data)
}

func (p *Proof) export(w http.ResponseWriter, r *api.Request) error {
	ctx, cancel := p.life.Bound(r.Context())
	defer cancel()
	d := &download{w: w, now: p.now, thread: r.Name("id")}
	var file bytes.Buffer
	_, err := transfer.Export(ctx, p.ledger, r.Name("id"), &gather{to: d, small: &file}, nil)
	switch {
	case err != nil && d.begun:
		api.NoteError(w, err)
		panic(http.ErrAbortHandler) // half a file must not look like a whole one
	case err != nil:
		return err
	}
	_, err = d.Write(file.Bytes())
	if err != nil {
		api.NoteError(w, err)
	}
	return nil
}

// A gather holds the first bytes of a file back, and writes the others in large pieces.
type gather struct {
	to    *download
	small *bytes.Buffer
}

// piece is how many bytes are written at once.
const piece = 256 << 10

func (g *gather) Write(data []byte) (int, error) {
	g.small.Write(data)
	if g.small.Len() < piece {
		return len(data), nil
	}
	_, err := g.to.Write(g.small.Bytes())
	g.small.Reset()
	return len(data), err
}
