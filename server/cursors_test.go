package server

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestCursorIsOfOneList: the cursor of a page leads on in the same list with the same filters, and is refused by others:
// they would answer with an empty page.
func TestCursorIsOfOneList(t *testing.T) {
	h := open(t, nil)
	for _, thread := range []string{"t1", "t2", "t3"} {
		h.waiting(thread)
	}
	var page struct {
		Items []struct{} `json:"items"`
		Next  string     `json:"next"`
	}
	for path, others := range map[string][]string{
		"/api/gates?limit=1":                 {"/api/gates?limit=1&state=decided", "/api/threads?limit=1", "/api/people?limit=1"},
		"/api/threads?fields=thread&limit=1": {"/api/threads?limit=1&status=done", "/api/gates?limit=1", "/api/threads?limit=1&graph=x"},
		"/api/people?limit=1":                {"/api/people?limit=1&prefix=v", "/api/gates?limit=1"},
	} {
		page.Items, page.Next = nil, ""
		a := h.get(path).want(http.StatusOK)
		a.into(&page)
		if page.Next == "" || len(page.Items) != 1 || a.header.Get("X-Next-Cursor") != page.Next {
			t.Fatalf("%s: %d items, next %q, in the header %q", path, len(page.Items), page.Next, a.header.Get("X-Next-Cursor"))
		}
		cursor := "&cursor=" + url.QueryEscape(page.Next)
		page.Items = nil
		h.get(path + "0" + cursor).want(http.StatusOK).into(&page) // another limit
		if len(page.Items) == 0 {
			t.Errorf("%s goes on with nothing", path)
		}
		h.send(ask{method: "GET", path: path + cursor, as: tokens.Approver}).want(http.StatusOK)
		for _, other := range others {
			if e := h.get(other + cursor).refused(posthouse.CodeInvalid); e.Field != "cursor" {
				t.Errorf("%s takes the cursor of %s: %+v", other, path, e)
			}
		}
		for _, bad := range []string{"x", "!", "t1", page.Next[:4]} {
			h.get(path + "&cursor=" + url.QueryEscape(bad)).refused(posthouse.CodeInvalid)
		}
	}
}
