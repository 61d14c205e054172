package server

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestDocsAreServed reads the documentation without a token: its pages, their files, and what is not there.
func TestDocsAreServed(t *testing.T) {
	h := open(t, nil)
	get := func(path string, header ...string) *reply {
		t.Helper()
		return h.send(ask{method: "GET", path: path, as: "-", header: header})
	}
	for path, c := range map[string]struct{ media, has string }{
		"/docs":                          {"text/html; charset=utf-8", "<h1>Documentation</h1>"},
		"/docs/errors":                   {"text/html; charset=utf-8", `<a id="conflict"></a>`},
		"/docs/reference/cli":            {"text/html; charset=utf-8", `<h3 id="posthouse-serve">`},
		"/docs/api":                      {"text/html; charset=utf-8", "<h1>API console</h1>"},
		"/docs/api.js":                   {"text/javascript; charset=utf-8", "openapi.json"},
		"/docs/api.css":                  {"text/css; charset=utf-8", ".operation"},
		"/docs/assets/docs.css":          {"text/css; charset=utf-8", "--ink:"},
		"/docs/assets/docs.js":           {"text/javascript; charset=utf-8", "search.json"},
		"/docs/assets/contents.js":       {"text/javascript; charset=utf-8", `["Errors","/docs/errors"]`},
		"/docs/assets/search.json":       {"application/json", `"pages":`},
		"/docs/figures/graph-1.dark.svg": {"image/svg+xml", "<svg"},
		"/llms.txt":                      {"text/plain; charset=utf-8", "](/docs/errors)"},
		"/llms-full.txt":                 {"text/plain; charset=utf-8", "\nPage: /docs/errors, file: docs/errors.md\n\n# Errors"},
	} {
		a := get(path).want(http.StatusOK)
		if got := a.header.Get("Content-Type"); got != c.media || !strings.Contains(string(a.body), c.has) {
			t.Errorf("%s is %s without %s: %.200s", path, got, c.has, a.body)
		}
		if policy := a.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self'; base-uri 'none'") && !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("%s has the policy %s", path, policy)
		}
		get(path, "If-None-Match: "+a.header.Get("ETag")).want(http.StatusNotModified)
		if z := get(path, "Accept-Encoding: gzip").want(http.StatusOK); z.header.Get("ETag") != a.header.Get("ETag") {
			t.Errorf("%s has another ETag if it is compressed", path)
		}
	}
	if policy := get("/docs/figures/graph-1.dark.svg").header.Get("Content-Security-Policy"); !strings.HasSuffix(policy, "sandbox") || strings.Contains(policy, "script") {
		t.Errorf("a figure has the policy %s", policy)
	}
	for _, path := range []string{"/docs/nothing", "/docs/reference/nothing", "/docs/assets/nothing.js", "/docs/..%2Fposthouse.db"} {
		if a := get(path).want(http.StatusNotFound); !strings.Contains(string(a.body), "There is no such page") || strings.Contains(string(a.body), "nothing") {
			t.Errorf("%s is %.200s", path, a.body)
		}
	}
	if a := get("/docs/reference/cli.md").want(http.StatusSeeOther); a.header.Get("Location") != "/docs/reference/cli" {
		t.Errorf("a Markdown file leads to %s", a.header.Get("Location"))
	}
}

// TestDocsKeepThePolicy reads the pages: what the policy forbids would fail in the browser only.
func TestDocsKeepThePolicy(t *testing.T) {
	h := open(t, nil)
	paths := regexp.MustCompile(`\]\((/docs[^)]*)\)`).FindAllStringSubmatch(string(h.get("/llms.txt").body), -1)
	inline := regexp.MustCompile(`(?i)<script(?: [^>]*)?>[^<]|<style|<[a-z][^>]*\s(style|on[a-z]+)\s*=|src="(https?:)?//|(href|src)="javascript:`)
	for _, m := range paths {
		body := string(h.get(m[1]).want(http.StatusOK).body)
		if bad := inline.FindString(body); bad != "" {
			t.Errorf("%s has %s", m[1], bad)
		}
		if !strings.Contains(body, "<main id=\"main\"") || strings.Count(body, "<h1") != 1 {
			t.Errorf("%s is no page with one title", m[1])
		}
	}
	if len(paths) < 40 {
		t.Errorf("only %d pages are in llms.txt", len(paths))
	}
}

// TestDocsAreUnpackedOnce asks for many pages at once, the first time.
func TestDocsAreUnpackedOnce(t *testing.T) {
	h := open(t, nil)
	results := make(chan error)
	for range 8 {
		go func() {
			res, err := http.Get(h.http.URL + "/docs/errors")
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
			results <- err
		}()
	}
	for range 8 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
