package page

import (
	"net/http"
	"strings"

	"github.com/posthouse/posthouse/server/internal/api"
)

// Slash returns what answers a path that ends in a slash, where the path without it is one of the pages of routes: it
// leads there, with the query. It reports whether it did. It leads to paths of the table alone, so never to another
// host, and calls of the API are not led anywhere.
func Slash(routes []*api.Route) func(w http.ResponseWriter, r *http.Request) bool {
	pages := http.NewServeMux()
	for _, rt := range routes {
		if rt.Style == api.Page && rt.Method == http.MethodGet && rt.Path != inboxPath {
			pages.Handle("GET "+rt.Path, http.NotFoundHandler())
		}
	}
	return func(w http.ResponseWriter, r *http.Request) bool {
		path, ends := strings.CutSuffix(r.URL.EscapedPath(), "/")
		if !ends || api.ScreenPath(path) != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
			return false
		}
		u := *r.URL
		u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
		if _, pattern := pages.Handler(&http.Request{Method: http.MethodGet, Host: r.Host, URL: &u}); pattern == "" {
			return false
		}
		if u.RawQuery != "" {
			path += "?" + u.RawQuery
		}
		w.Header().Set("Location", path)
		w.WriteHeader(http.StatusPermanentRedirect)
		return true
	}
}
