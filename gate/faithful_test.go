package gate

import (
	"context"
	"errors"
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
		"all members":                {`{"A":1,` + whole + `}`, false, false}, // Up is read as X
		"left out by a program":      {`{"A":1,"P":[0,0]}`, false, false},
		"left out by a person":       {`{"A":1,"P":[0,0]}`, true, true},
		"a number in another form":   {`{"A":1,"P":[15e-1,0e5]}`, true, true},
		"null for an empty member":   {`{"A":1,"F":null,"B":null,"P":[0,0]}`, true, true},
		"null for an object":         {`{"A":1,"G":null,"P":[0,0]}`, true, false},
		"more elements than fit":     {`{"A":1,"P":[0,0,0]}`, true, false},
		"digits that are lost":       {`{"A":1,"P":[0.123456789,0]}`, true, false},
		"text of a person":           {`{"A":1,"Up":"a","P":[0,0]}`, true, true},
		"text of a program":          {`{"A":1,"Up":"a"}`, false, false},
		"a list and a map":           {`{"A":1,"C":[1,2],"D":{"x":1},"E":3,"F":true,"P":[0,0]}`, true, true},
		"an unknown member":          {`{"A":1,"Z":1}`, true, false},
		"another type":               {`{"A":"1"}`, true, false},
		"a list where there is none": {`[]`, true, false},
	} {
		if _, err := read[sheet]([]byte(c.data), c.byHand); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
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

// TestGrantsAreNotForHandlers: a handler may not propose an effect, nor run one under a grant,
// and hears where to do so. Its function does not run.
func TestGrantsAreNotForHandlers(t *testing.T) {
	ctx := handler.With(context.Background(), scope{value: "1"})
	_, proposed := Propose(ctx, Question{Name: "pay"}, 5)
	_, acted := Act(ctx, "pay", Grant("gate-x"), func(context.Context, int) (int, error) {
		t.Error("an effect ran in a handler")
		return 0, nil
	})
	for what, err := range map[string]error{"Propose": proposed, "Act": acted} {
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeUnsupported || !strings.Contains(e.Hint, "gate.Act") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
