package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/page"
)

func slash() func(http.ResponseWriter, *http.Request) bool {
	var routes []*api.Route
	for path, style := range map[string]api.Style{
		"/{$}": api.Page, "/threads": api.Page, "/threads/{id}": api.Page, "/docs/{section}/{page}": api.Page, "/login": api.Page,
		"/api/threads": api.JSON, "/assets/{file}": api.Asset, "/healthz": api.JSON,
	} {
		routes = append(routes, &api.Route{Method: http.MethodGet, Path: path, Style: style})
	}
	return page.Slash(append(routes, &api.Route{Method: http.MethodPost, Path: "/logout", Style: api.Page}))
}

// TestSlash leads from a path that ends in a slash to the page that is meant, with the query, and nowhere else.
func TestSlash(t *testing.T) {
	leads := slash()
	for target, want := range map[string]string{
		"/threads/":                       "/threads",
		"/threads/?status=failed&q=a%2Fb": "/threads?status=failed&q=a%2Fb",
		"/threads/a%2Fb/":                 "/threads/a%2Fb",
		"/threads/%5Cevil.example/":       "/threads/%5Cevil.example",
		"/docs/howto/tests/":              "/docs/howto/tests",
		"/login/?next=//evil.example":     "/login?next=//evil.example", // the login looks at it

		"/":                           "",
		"//":                          "",
		"///":                         "",
		"//evil.example/":             "",
		"//evil.example/threads/":     "",
		"/threads//":                  "",
		"//threads/":                  "",
		"/\\evil.example/":            "",
		"/%5Cevil.example/":           "",
		"/%2Fevil.example/":           "",
		"/%2F%2Fevil.example/":        "",
		"/threads/../":                "",
		"/threads/%2e%2e/":            "",
		"/./":                         "",
		"/nosuch/":                    "",
		"/threads/a/b/":               "",
		"/api/threads/":               "",
		"/assets/index.js/":           "",
		"/healthz/":                   "",
		"/logout/":                    "",
		"/threads":                    "",
		"http://evil.example/threads": "",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
			wants := want
			if method != http.MethodGet && method != http.MethodHead {
				wants = ""
			}
			r := httptest.NewRequest(method, "/", nil)
			u, err := url.Parse(target)
			if strings.HasPrefix(target, "//") || err != nil {
				u, err = url.ParseRequestURI(target) // as a server reads it
			}
			if err != nil {
				t.Fatal(err)
			}
			r.URL = u
			w := httptest.NewRecorder()
			did := leads(w, r)
			if got := w.Header().Get("Location"); got != wants || did != (wants != "") || did && w.Code != http.StatusPermanentRedirect {
				t.Errorf("%s %s leads to %q with %d, want %q", method, target, got, w.Code, wants)
			}
		}
	}
}

// FuzzSlash: no path leads to another host, or to anything but what stood before the slash.
func FuzzSlash(f *testing.F) {
	leads := slash()
	f.Add("/threads/x/", "a=b")
	f.Add("//evil.example/", "")
	f.Add("/threads/%0d%0aX:y/", "\r\n")
	f.Fuzz(func(t *testing.T, path, query string) {
		if query != "" {
			query = "?" + query
		}
		u, err := url.ParseRequestURI(path + query) // as a server reads it
		if err != nil || u.Host != "" {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = u
		w := httptest.NewRecorder()
		if !leads(w, r) {
			return
		}
		to, err := url.Parse(w.Header().Get("Location"))
		if err != nil || to.Host != "" || to.Scheme != "" || to.EscapedPath()+"/" != u.EscapedPath() || to.RawQuery != u.RawQuery || strings.HasPrefix(to.Path, "//") || strings.HasPrefix(to.Path, `/\`) {
			t.Errorf("%q with %q leads to %q: %v", path, query, w.Header().Get("Location"), err)
		}
	})
}
