package problem

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestCodesAreDocumented compares the codes that only HTTP has with their page.
func TestCodesAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, only, found := strings.Cut(string(data), "## Only over HTTP")
	only, _, _ = strings.Cut(only, "\n## ")
	if !found || strings.Count(only, "<a id=") != len(statuses) {
		t.Errorf("docs/errors.md has %d codes that only HTTP has, there are %d", strings.Count(only, "<a id="), len(statuses))
	}
	for code, s := range statuses {
		if row := fmt.Sprintf("| <a id=%q></a>`%s` | %d |", string(code), code, s); !strings.Contains(only, row) {
			t.Errorf("docs/errors.md lacks the row %s", row)
		}
	}
}

// TestProblemTellsWhatWonAndNoCause writes an error that has everything.
func TestProblemTellsWhatWonAndNoCause(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("ETag", `"old"`)
	w.Header().Set("Link", "<x>")
	Write(w, fmt.Errorf("wrapped: %w", &posthouse.Error{
		Code: posthouse.CodeFenced, Message: "somebody else runs it", Hint: "wait", Err: errors.New("open /secret/file"),
		Tail: &posthouse.Position{Seq: 7}, Head: "h1", Lease: &posthouse.Lease{Owner: "o1", Fence: 3}, Gates: []posthouse.ID{"g1"},
		Decision: &posthouse.Decision{By: "alice"},
	}))
	body := w.Body.String()
	for _, want := range []string{`"seq":7`, `"head":"h1"`, `"owner":"o1"`, `"g1"`, `"by":"alice"`, `"status":409`, `docs/errors.md#fenced"`} {
		if !strings.Contains(body, want) {
			t.Errorf("it lacks %s: %s", want, body)
		}
	}
	if strings.Contains(body, "secret") || w.Header().Get("ETag") != "" || w.Header().Get("Link") != "" || w.Code != 409 {
		t.Errorf("it answers %d %v %s", w.Code, w.Header(), body)
	}
}
