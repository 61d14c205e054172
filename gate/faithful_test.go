package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
)

type sheet struct {
	A  int
	B  string
	C  []int
	D  map[string]int
	E  *int
	F  bool
	G  struct{ X int }
	T  time.Time
	P  [2]float32
	Up upper
	O  string `json:"o,omitempty"`
}

// upper is text that is read in capitals.
type upper string

func (u *upper) UnmarshalText(b []byte) error { *u = "X" + upper(b); return nil }

// TestContentIsReadAsItWasShown compares contents with what they are read as: those of a
// program must say all and the same, those that a person wrote may leave out what is empty.
func TestContentIsReadAsItWasShown(t *testing.T) {
	whole := `"B":"","C":null,"D":null,"E":null,"F":false,"G":{"X":0},"T":"0001-01-01T00:00:00Z","P":[0,0],"Up":""`
	for name, c := range map[string]struct {
		data   string
		byHand bool
		fits   bool
	}{
		"all members":                         {`{"A":1,` + whole + `}`, false, false}, // Up is read as X
		"left out by a program":               {`{"A":1,"P":[0,0]}`, false, false},
		"left out by a person":                {`{"A":1,"P":[0,0]}`, true, true},
		"a number in another form":            {`{"A":1,"P":[15e-1,0e5]}`, true, true},
		"null for an empty member":            {`{"A":1,"F":null,"B":null,"P":[0,0]}`, true, true},
		"null for an object":                  {`{"A":1,"G":null,"P":[0,0]}`, true, false},
		"more elements than fit":              {`{"A":1,"P":[0,0,0]}`, true, false},
		"digits that are lost":                {`{"A":1,"P":[0.123456789,0]}`, true, false},
		"text of a person":                    {`{"A":1,"Up":"a","P":[0,0]}`, true, false},
		"the text as it is read":              {`{"A":1,"B":"a","P":[0,0]}`, true, true},
		"a time in another form":              {`{"A":1,"T":"2026-01-02T03:04:05+00:00","P":[0,0]}`, true, true},
		"a time":                              {`{"A":1,"T":"2026-01-02T03:04:05Z","P":[0,0]}`, true, true},
		"another spelling":                    {`{"a":1,"P":[0,0]}`, true, false},
		"two spellings, one empty":            {`{"A":1,"B":"bob","b":"","P":[0,0]}`, true, false},
		"an empty other spelling":             {`{"A":1,"b":"","P":[0,0]}`, true, false},
		"an empty one that is not shown":      {`{"A":1,"o":"","P":[0,0]}`, true, true},
		"an empty one in another spelling":    {`{"A":1,"O":"","P":[0,0]}`, true, false},
		"both spellings of what is not shown": {`{"A":1,"o":"","O":"","P":[0,0]}`, true, false},
		"an exponent":                         {`{"A":1e1,"P":[0,0]}`, true, false},
		"a fraction of nothing":               {`{"A":10.0,"P":[0,0]}`, true, false},
		"beyond all":                          {`{"A":1e400,"P":[0,0]}`, true, false},
		"text of a program":                   {`{"A":1,"Up":"a"}`, false, false},
		"a list and a map":                    {`{"A":1,"C":[1,2],"D":{"x":1},"E":3,"F":true,"P":[0,0]}`, true, true},
		"an unknown member":                   {`{"A":1,"Z":1}`, true, false},
		"another type":                        {`{"A":"1"}`, true, false},
		"a list where there is none":          {`[]`, true, false},
	} {
		if _, err := read[sheet]([]byte(c.data), c.byHand); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnEditIsToldItsForm reads edits that do not say what would run: the error says what to write.
func TestAnEditIsToldItsForm(t *testing.T) {
	for data, form := range map[string]string{
		`{"A":1e1}`:             "write 10",
		`{"A":10.0}`:            "write 10",
		`{"A":1e400}`:           "in its range",
		`{"Up":"a"}`:            `is read as "Xa"`,
		`{"P":[0.123456789,0]}`: "is read as 0.12345679",
		`{"b":""}`:              `"B": text`,
		`{"A":"1"}`:             "must be a whole number",
	} {
		if _, err := read[sheet]([]byte(data), true); err == nil || !strings.Contains(err.Error(), form) {
			t.Errorf("%s: %v, want it to say %q", data, err, form)
		}
	}
}

// A scope answers each question with one value.
type scope struct {
	handler.Scope
	value string
}

func (s scope) Ask(g posthouse.Gate) (*posthouse.Gate, error) {
	if s.value == "" {
		return nil, posthouse.ErrWaiting
	}
	g.Decision = &posthouse.Decision{Verdict: posthouse.Respond, By: "alice", Value: []byte(s.value)}
	return &g, nil
}

// TestAskInAHandler asks within a handler: no policy answers there, a question parks, and an
// answer has the type.
func TestAskInAHandler(t *testing.T) {
	ask := func(value string, q Question) (Answer[int], error) {
		return Ask[int](handler.With(context.Background(), scope{value: value}), q)
	}
	if _, err := ask("1", Question{Name: "n", Auto: &Auto{}}); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("with a policy: %v", err)
	}
	if _, err := ask("1", Question{}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("without a name: %v", err)
	}
	if _, err := ask("", Question{Name: "n"}); !errors.Is(err, posthouse.ErrWaiting) {
		t.Errorf("without an answer: %v", err)
	}
	if a, err := ask("7", Question{Name: "n"}); err != nil || a.Value != 7 || a.By != "alice" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := ask(`"x"`, Question{Name: "n"}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("an answer of another type: %v", err)
	}
}

// A proposing scope answers each proposal with the next decision, and runs effects.
type proposing struct {
	handler.Scope
	decisions []posthouse.Decision
	asked     []posthouse.Gate
	edited    []posthouse.ID
}

func (p *proposing) Propose(g posthouse.Gate, edited posthouse.ID) (*posthouse.Gate, error) {
	p.asked, p.edited = append(p.asked, g), append(p.edited, edited)
	g.ID = posthouse.ID("gate-" + string(rune('0'+len(p.asked))))
	g.RequestedBy, g.Decision = "bob", &p.decisions[len(p.asked)-1]
	return &g, nil
}

func (p *proposing) Replaced(posthouse.ID) bool { return false }

func (p *proposing) Act(ctx context.Context, a handler.Action) (posthouse.Value, error) {
	g := p.asked[len(p.asked)-1]
	g.ID, g.Decision = a.Grant, &p.decisions[len(p.asked)-1]
	if err := a.Fits(&g); err != nil {
		return posthouse.Value{}, err
	}
	return a.Run(ctx, &g)
}

// TestProposeInAHandler: a handler proposes as a program does. An edit that the same people judge
// by the same rule is a grant; one for others is proposed as an edit.
func TestProposeInAHandler(t *testing.T) {
	approve := posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}
	edit := posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte("500")}
	byAmount := func(amount int) Question {
		q := Question{Name: "pay", Text: "Pay?", Assignees: []string{"alice"}}
		if amount > 100 {
			q.Assignees = []string{"manager"}
		}
		return q
	}
	for name, c := range map[string]struct {
		question  func(int) Question
		decisions []posthouse.Decision
		edited    []posthouse.ID
		ran       int
	}{
		"approved":           {byAmount, []posthouse.Decision{approve}, []posthouse.ID{""}, 5},
		"edited, one rule":   {func(int) Question { return Question{Name: "pay"} }, []posthouse.Decision{edit}, []posthouse.ID{""}, 500},
		"edited, for others": {byAmount, []posthouse.Decision{edit, {Verdict: posthouse.Approve, By: "manager"}}, []posthouse.ID{"", "gate-1"}, 500},
	} {
		p := &proposing{decisions: c.decisions}
		ctx := handler.With(context.Background(), p)
		grant, err := ProposeFor(ctx, 5, c.question)
		if err != nil || !slices.Equal(p.edited, c.edited) {
			t.Errorf("%s: %v, asked about %v", name, err, p.edited)
		}
		ran, err := Act(ctx, "pay", grant, func(_ context.Context, amount int) (int, error) { return amount, nil })
		if err != nil || ran != c.ran {
			t.Errorf("%s: it ran on %d, %v", name, ran, err)
		}
		other := 1
		if _, err := Act(ctx, "pay", grant, func(context.Context, int) (int, error) { return 0, nil }, ActOptions[int, int]{Expect: &other}); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("%s: with another content expected: %v", name, err)
		}
	}
	p := &proposing{decisions: []posthouse.Decision{{Verdict: posthouse.Reject, By: "alice"}}}
	ctx := handler.With(context.Background(), p)
	if _, err := Propose(ctx, Question{Name: "pay"}, 5); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("rejected: %v", err)
	}
	if _, err := Propose(ctx, Question{Name: "pay", Auto: &Auto{}}, 5); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("with a policy: %v", err)
	}
	if _, err := Act(ctx, "pay", "", func(context.Context, int) (int, error) { return 0, nil }); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("without a grant: %v", err)
	}
}
