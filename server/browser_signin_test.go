package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/server/tokens"
)

// A shownKnower is a knower with a page at another address, where a person says yes or no.
type shownKnower struct {
	knower
	page string
}

func (k *shownKnower) Begin(context.Context) (location, kept string, err error) {
	return k.page + "/authorize?state=s1", "s1", k.err
}

func (k *shownKnower) Finish(ctx context.Context, query url.Values, kept string) (*signin.Person, error) {
	if query.Get("error") != "" {
		return nil, &posthouse.Error{Code: posthouse.CodeForbidden, Message: "the provider says access_denied"}
	}
	return k.knower.Finish(ctx, query, kept)
}

// arrive is wait over a change of the page, which ends what is asked of the page before.
func (b *tab) arrive(expression string) {
	b.t.Helper()
	for {
		err := b.page.Wait(b.ctx, expression)
		switch {
		case err == nil:
			return
		case b.ctx.Err() != nil || !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context"):
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// TestPageOfALoginByAProvider logs in by a provider as a person does: from the page that was asked for over the
// provider's and back, also after a refusal there.
func TestPageOfALoginByAProvider(t *testing.T) {
	k := &shownKnower{knower: knower{name: "Accounts & Co", person: &signin.Person{Name: "ann@example.com", Role: tokens.Approver, Expires: time.Now().Add(time.Hour)}}}
	h := open(t, func(o *Options) { o.SignIn = k })
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a id="yes" href="%[1]s?code=c&state=s1">yes</a> <a id="no" href="%[1]s?error=access_denied&state=s1">no</a>`, h.http.URL+signin.CallbackPath)
	}))
	t.Cleanup(provider.Close)
	k.page = strings.Replace(provider.URL, "127.0.0.1", "localhost", 1) // another site
	g := h.shows(posthouse.Gate{Name: "pay", Text: "Pay?", Payload: []byte(`{}`)})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	running := chromium(t)
	path := "/gates/" + string(g.ID)
	page := must.Get(running.Open(ctx, h.http.URL+path))(t) // who is not logged in is led to the login
	b := &tab{t, ctx, page}
	const begin = `document.querySelector("a[href^='/login/begin']")`
	b.arrive(begin + " !== null")
	if said := b.text(begin + ".textContent"); said != "Log in with Accounts & Co" {
		t.Errorf("the login says %q", said)
	}
	// Both buttons have one colour, once they are drawn.
	b.wait(`getComputedStyle(` + begin + `).backgroundColor === getComputedStyle(document.querySelector("form button")).backgroundColor`)
	b.do(begin + ".click()")
	b.arrive(`document.getElementById("no") !== null`)
	b.do(`document.getElementById("no").click()`)
	const wrong = `document.querySelector("[role=alert]")`
	b.arrive(wrong + " !== null")
	if said := b.text(wrong + ".textContent"); said != "the provider says access_denied" {
		t.Errorf("after a refusal it says %q", said)
	}
	b.do(begin + ".click()")
	b.arrive(`document.getElementById("yes") !== null`)
	b.do(`document.getElementById("yes").click()`)
	b.arrive(`location.pathname === ` + fmt.Sprintf("%q", path) + ` && ` + question + ` !== null`)
	if me := b.text(`document.getElementById("account").textContent`); !strings.Contains(me, "ann@example.com") {
		t.Errorf("the page says %q", me)
	}
	b.press("article footer", "Approve")
	b.write(reason, "by an account elsewhere")
	b.press("article footer form", "Approve")
	b.wait(`document.body.innerText.includes("approved by ann@example.com")`)
	if d := must.Get(h.ledger.Gate(ctx, g.ID))(t).Decision; d == nil || d.By != "ann@example.com" {
		t.Errorf("on record is %+v", d)
	}
}
