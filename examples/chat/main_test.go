package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/examples/internal/crash"
	"github.com/posthouse/posthouse/examples/internal/llm"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func TestMain(m *testing.M) {
	store, err := crash.Started(context.Background())
	if store != nil {
		d := &desk{store: store, out: os.Stdout, thread: "chat", tools: shop(store.Note)}
		d.model = llm.Func(func(ctx context.Context, r llm.Request, out io.Writer) (llm.Reply, error) {
			store.Note("model")
			return fake(ctx, r, out)
		})
		err = d.command(context.Background(), os.Args[1], strings.Join(os.Args[2:], " "))
		err = errors.Join(err, store.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if store == nil {
		goleak.VerifyTestMain(m)
	}
}

// TestNothingIsPaidTwice kills the process after each commit there is, before the
// question and after its answer.
func TestNothingIsPaidTwice(t *testing.T) {
	want := []string{"model", "lookup 1234", "model", "refund 1234 with key chat/4/tools/refund/0", "model"}
	for _, at := range []string{"say", "approve"} {
		for n := 1; ; n++ {
			path := filepath.Join(t.TempDir(), "chat.db")
			died := false
			for _, args := range [][]string{{"say", "please refund order 1234"}, {"approve"}} {
				limit := 0
				if args[0] == at {
					limit = n
				}
				out, killed, err := crash.Run(t.Context(), path, limit, args...)
				if killed {
					died = true
					out, _, err = crash.Run(t.Context(), path, 0, "resume")
				}
				status := map[string]string{"say": "\nwaiting, 4 messages", "approve": "\ndone, 6 messages"}[args[0]]
				if err != nil || !strings.Contains(out, status) {
					t.Fatalf("killed behind commit %d of %s: %v\n%s", n, at, err, out)
				}
			}
			if got, err := crash.Notes(path); err != nil || !slices.Equal(got, want) {
				t.Errorf("killed behind commit %d of %s: %v\n got %q\nwant %q", n, at, err, got, want)
			}
			if !died {
				if n < 4 {
					t.Errorf("%s makes %d commits only: the test tested nothing", at, n-1)
				}
				break
			}
		}
	}
}

func testDesk(store posthouse.Store) (*desk, *bytes.Buffer, *[]string) {
	var out bytes.Buffer
	var notes []string
	return &desk{store: store, model: llm.Func(fake), out: &out, thread: "chat", tools: shop(func(s string) { notes = append(notes, s) })}, &out, &notes
}

func TestAnswersReachTheModel(t *testing.T) {
	for _, c := range []struct{ verb, text, want string }{
		{"approve", "", "Done: order 12 is refunded."},
		{"reject", "too much", "reject by you: too much"},
		{"edit", `{"order":"13"}`, "Done: order 13 is refunded."},
		{"say", "rather order 14", "Let me look at order 14."}, // withdraws the question
	} {
		d, out, _ := testDesk(memstore.New())
		err := errors.Join(d.command(t.Context(), "say", "please refund order 12"), d.command(t.Context(), c.verb, c.text))
		if err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %v\n%s", c.verb, err, out)
		}
	}
	d, _, notes := testDesk(memstore.New())
	err := d.command(t.Context(), "say", "please refund order 12")
	if bad := d.command(t.Context(), "edit", `{"amount":1000}`); err != nil || !errors.Is(bad, posthouse.ErrInvalid) || len(*notes) != 1 {
		t.Errorf("an edit that the tool does not take: %v, %q", errors.Join(err, bad), *notes)
	}
}

// The model asks for two refunds. The first is approved and paid, and the user types something else
// instead of answering the second: the model is told what was done, and what was not.
func TestTheModelKnowsWhatWasDone(t *testing.T) {
	for name, store := range map[string]func() posthouse.Store{
		"memory": func() posthouse.Store { return memstore.New() },
		"sqlite": func() posthouse.Store {
			s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "chat.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, notes := testDesk(store())
			var told []llm.Message
			d.model = llm.Func(func(_ context.Context, r llm.Request, _ io.Writer) (llm.Reply, error) {
				told = r.Messages
				m := llm.Message{Role: llm.Assistant, Text: "Very well."}
				if len(r.Messages) == 1 {
					for _, order := range []string{"12", "13"} {
						m.Calls = append(m.Calls, llm.Call{ID: "call-" + order, Name: "refund", Arguments: []byte(`{"order":"` + order + `"}`)})
					}
				}
				return llm.Reply{Message: m}, nil
			})
			for _, c := range [][2]string{{"say", "please refund 12 and 13"}, {"approve", ""}, {"say", "stop, what have you done?"}, {"say", "and now?"}} {
				if err := d.command(t.Context(), c[0], c[1]); err != nil {
					t.Fatal(c, err)
				}
				if c[0] == "approve" && len(*notes) != 1 {
					t.Fatalf("paid %q", *notes)
				}
			}
			var roles []string
			for _, m := range told {
				roles = append(roles, string(m.Role)+" "+m.CallID)
			}
			want := []string{string(llm.User) + " ", string(llm.Assistant) + " ", string(llm.ToolRole) + " call-12", string(llm.ToolRole) + " call-13", string(llm.User) + " ", string(llm.Assistant) + " ", string(llm.User) + " "}
			if !slices.Equal(roles, want) {
				t.Fatalf("the model is given %q, want %q", roles, want)
			}
			if told[2].Text != "order 12 is refunded" || told[2].Failed || told[3].Text != "not done: the user went on" || !told[3].Failed {
				t.Errorf("the model is told %+v", told[2:4])
			}
			if len(*notes) != 1 {
				t.Errorf("paid %q", *notes)
			}
		})
	}
}

func TestASessionAsksOnTheSpot(t *testing.T) {
	d, out, notes := testDesk(memstore.New())
	led, err := ledger.Open(d.store, &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		t.Fatal(err)
	}
	defer led.Close()
	err = d.talk(t.Context(), led, strings.NewReader("refund 12\napprove\nrefund 13\ndeny\nrefund 14\n"))
	if err != nil || strings.Count(out.String(), "not done") != 2 { // who leaves denies
		t.Errorf("%v\n%s", err, out)
	}
	if len(*notes) != 4 || !strings.HasPrefix((*notes)[1], "refund 12") {
		t.Errorf("it did %q", *notes)
	}
}

// TestModelOverHTTP talks to a server that fails once, and repeats the key.
func TestModelOverHTTP(t *testing.T) {
	const secret = "sk-very-secret"
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"error":{"message":"busy, %s"}}`, r.Header.Get("Authorization"))
			return
		}
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"Hello."}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	env := map[string]string{"POSTHOUSE_MODEL": "openai:small", "OPENAI_API_KEY": secret, "OPENAI_BASE_URL": server.URL}
	model, err := llm.FromEnv(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chat.db")
	store, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, out, _ := testDesk(store)
	d.model = model
	if err := errors.Join(d.command(t.Context(), "say", "hello"), store.Close()); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); calls != 2 || got != "Hello.\ndone, 2 messages, 5 tokens\n" {
		t.Errorf("%d calls: %q", calls, got)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s: holds the key, or cannot be read: %v", f, err)
		}
	}
}
