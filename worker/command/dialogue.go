package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// maxUnread is how many answers may wait, beside what the pipe holds. When they are not
// fewer after patience, the program does not read.
const (
	maxUnread = 1024
	patience  = time.Second
)

// A dialogue reads what a program prints, and answers it.
type dialogue struct {
	task    worker.Task
	answers chan<- []byte
	log     *slog.Logger

	given   bool
	refused error

	records records
	waiting bool // something that was asked for is not there yet
}

// read reads lines up to the end. It returns whether a verdict was taken, the last one that
// was not, and an error for what is not a line of the protocol.
func (d *dialogue) read(r io.ReadCloser) (given bool, refused, err error) {
	defer r.Close()
	defer d.records.end()
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := 1; err == nil; n++ {
		var line []byte
		line, err = readLine(lines)
		if err == nil || err == io.EOF {
			if e := d.take(n, bytes.TrimSpace(line)); e != nil {
				err = e
			}
		}
	}
	if err == io.EOF {
		err = nil
	} else if d.given {
		d.log.Warn("a program went on behind its verdict, and was ended", "error", err)
	}
	return d.given, d.refused, err
}

// readLine returns a line. [posthouse.ErrTooLarge] for one that is longer than [MaxLine].
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxLine+1 {
			return nil, &posthouse.Error{
				Code: posthouse.CodeTooLarge, Field: "output", Message: fmt.Sprintf("of the program has a line of more than %d bytes, which is the limit", MaxLine),
				Hint: "keep large values elsewhere, and print a reference",
			}
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// take does what a line asks for, and answers it. An error ends the program.
func (d *dialogue) take(n int, line []byte) error {
	if len(line) == 0 {
		return nil
	}
	done, out, err := d.do(line)
	if done == "" {
		e := posthouse.Invalid("output", "of the program, line %d, is %.80q: %v", n, line, err)
		e.Hint = `print one JSON object on each line, with "action", "save", "stream", "signal", "step", "record", "ask", "wait", "act", "acted" or "note"; print everything else to standard error`
		return e
	}
	if errors.Is(err, posthouse.ErrWaiting) {
		d.waiting = true
		out, err = reply{Waiting: true}, nil
	}
	answer := encode(out)
	if err != nil {
		d.log.Warn("what a program asked for was refused", "request", done, "error", err)
		answer = refusal(err)
	}
	select {
	case d.answers <- answer:
		return nil
	case <-time.After(patience):
		e := posthouse.Invalid("output", "of the program has had %d answers that it did not read", maxUnread)
		e.Hint = "read a line from standard input behind each line that is printed"
		return e
	}
}

// A signal is what a program asks to be sent.
type signal struct {
	Thread string          `json:"thread"`
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
}

// requests are the names of requests, beside that of a verdict.
var requests = []string{"save", "stream", "signal", "step", "record", "ask", "wait", "act", "acted", "note"}

// do does what a line asks for. It returns what that is, "" for a line that is no request.
func (d *dialogue) do(line []byte) (request string, out reply, err error) {
	var has map[string]json.RawMessage
	if err := json.Unmarshal(line, &has); err != nil {
		return "", out, err
	}
	if _, ok := has["action"]; ok {
		request = "action"
	} else if i := slices.IndexFunc(requests, func(name string) bool { _, ok := has[name]; return ok }); i >= 0 {
		request = requests[i]
	}
	switch {
	case request == "":
		return "", out, errors.New("it has none of action, save, stream, signal, step, record, ask, wait, act, acted and note")
	case request != "action" && len(has) > 1:
		return "", out, errors.New(request + " goes with nothing else")
	}
	if err := posthouse.CheckStrict("output", line); err != nil {
		return "", out, err
	}
	out, err = d.answer(request, has[request], line)
	return request, out, err
}

// answer does a request with a value, which line has.
func (d *dialogue) answer(request string, value json.RawMessage, line []byte) (reply, error) {
	done := reply{OK: true}
	switch request {
	case "save":
		return done, d.task.Checkpoint(value)
	case "stream":
		return done, d.task.Stream(value)
	case "note":
		return done, d.note(value)
	case "signal":
		return done, d.signal(value)
	case "step":
		return d.step(value)
	case "record":
		return d.record(value)
	case "ask":
		return d.ask(value)
	case "wait":
		return d.wait(value)
	case "act":
		return d.act(value)
	case "acted":
		return d.acted(value)
	}
	err := d.verdict(line)
	switch {
	case err == nil:
		d.given = true
	case !d.given:
		d.refused = err
	}
	return done, err
}

func (d *dialogue) signal(data []byte) error {
	var s signal
	if err := parse("signal", data, &s); err != nil {
		return err
	}
	if s.Value == nil {
		s.Value = json.RawMessage("null")
	}
	return d.task.SendSignal(s.Thread, s.Name, s.Value)
}

// note notes something on the execution.
func (d *dialogue) note(data []byte) error {
	var n struct {
		Line         string                     `json:"line"`
		Model        string                     `json:"model"`
		Input        json.RawMessage            `json:"input"`
		InputTokens  int64                      `json:"inputTokens"`
		OutputTokens int64                      `json:"outputTokens"`
		Cost         string                     `json:"cost"`
		Values       map[string]json.RawMessage `json:"values"`
	}
	if err := parse("note", data, &n); err != nil {
		return err
	}
	s, err := d.scope()
	if err != nil {
		return err
	}
	note := posthouse.Note{Line: n.Line, Model: n.Model, InputTokens: n.InputTokens, OutputTokens: n.OutputTokens, Cost: n.Cost}
	if n.Input != nil {
		note.Input = n.Input
	}
	for name, v := range n.Values {
		if note.Values == nil {
			note.Values = map[string]any{}
		}
		note.Values[name] = v
	}
	return s.Note(d.task.Context(), note)
}

// verdict gives the verdict of a line.
func (d *dialogue) verdict(line []byte) error {
	v, err := task.ParseVerdict(line)
	if err != nil {
		return err
	}
	reason := errors.New(v.Reason)
	if v.NotDone {
		reason = effect.MarkNotDone(reason)
	}
	switch v.Action {
	case task.Complete:
		return d.task.Complete(v.Output)
	case task.Fail:
		return d.task.Fail(reason)
	case task.FailPermanent:
		return d.task.FailPermanent(reason)
	case task.RetryAfter:
		return d.task.RetryAfter(reason, v.Delay)
	case task.Unknown:
		return d.task.Fail(unclear(reason))
	case task.Pause:
		return d.task.Pause(v.Name, v.Delay)
	case task.Continue:
		return d.task.Continue(v.Output)
	}
	return posthouse.Invalid("action", "%s is the worker's to give, not the program's", v.Action)
}

// refusal returns the answer to what was not done.
func refusal(err error) []byte {
	var own *posthouse.Error
	if !errors.As(err, &own) { // the execution is over
		own = &posthouse.Error{Code: posthouse.CodeConflict, Message: err.Error()}
	}
	return encode(map[string]*posthouse.Error{"error": own})
}

// encode returns a line for the program.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(`{"error":{"code":"invalid","message":"the answer does not encode"}}`)
	}
	return append(b, '\n')
}

// readOutput reads the output of a plain program.
func readOutput(r io.ReadCloser) (json.RawMessage, error) {
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, task.MaxOutput+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > task.MaxOutput:
		return nil, &posthouse.Error{
			Code: posthouse.CodeTooLarge, Field: "output", Message: fmt.Sprintf("of the program has more than %d bytes, which is the limit", task.MaxOutput),
			Hint: "keep large values elsewhere, and print a reference",
		}
	}
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return json.RawMessage("null"), nil
	}
	return b, nil
}
