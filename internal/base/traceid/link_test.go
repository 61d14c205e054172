package traceid

import (
	"net/url"
	"strings"
	"testing"
)

const id = "4bf92f3577b34da6a3ce929d0e0e4736"

// TestLink fills templates in, and refuses those that lead elsewhere than people expect.
func TestLink(t *testing.T) {
	for template, want := range map[string]string{
		"https://traces.example.com/trace/{traceId}":                       "https://traces.example.com/trace/" + id,
		"http://localhost:16686/search?q={traceId}&t={traceId}#{traceId}":  "http://localhost:16686/search?q=" + id + "&t=" + id + "#" + id,
		"https://g.example/explore?left=%7B%22query%22:%22{traceId}%22%7D": "https://g.example/explore?left=%7B%22query%22:%22" + id + "%22%7D",
		"": "",
	} {
		l, err := ParseLink(template)
		if err != nil || l.To(id) != want {
			t.Errorf("%s leads to %q: %v", template, l.To(id), err)
		}
		for _, bad := range []string{"", "x", id[1:], id + "0", strings.ToUpper(id), id[:31] + "/", id[:31] + "\""} {
			if to := l.To(bad); to != "" {
				t.Errorf("the id %q leads to %q", bad, to)
			}
		}
	}
	for template, want := range map[string]string{
		"https://traces.example.com/":                                     "has no {traceId}",
		"https://traces.example.com/{TRACEID}":                            "has no {traceId}",
		"javascript:alert({traceId})":                                     "http or https",
		"data:text/html,{traceId}":                                        "http or https",
		"file:///{traceId}":                                               "http or https",
		"//traces.example.com/{traceId}":                                  "http or https",
		"/trace/{traceId}":                                                "http or https",
		"https:{traceId}":                                                 "http or https",
		"https:///{traceId}":                                              "http or https",
		"https://:80/{traceId}":                                           "http or https",
		"https://{traceId}.example.com/":                                  "in its host",
		"https://{traceId}/":                                              "in its host",
		"https://ann:secret@traces.example.com/{traceId}":                 "has a user",
		"https://traces.example.com@evil.example/{traceId}":               "has a user",
		"https://traces.example.com/{traceId} x":                          "escape",
		"https://traces.example.com/{traceId}\n":                          "escape",
		"https://traces.example.com/\"{traceId}":                          "escape",
		"https://traces.example.com/{{traceId}}":                          "escape",
		"https://traces.exämple.com/{traceId}":                            "escape",
		"https://traces.example.com\\{traceId}":                           "escape",
		"https://traces.example.com/%zz{traceId}":                         "http or https",
		"https://traces.example.com/" + strings.Repeat("x{traceId}", 300): "2000",
	} {
		if l, err := ParseLink(template); err == nil || !strings.Contains(err.Error(), want) || l.To(id) != "" {
			t.Errorf("%.60s is taken as %+v, or refused with %v; it should say %q", template, l, err, want)
		}
	}
}

// FuzzLink: what is taken leads to the same http host for every id, and parses.
func FuzzLink(f *testing.F) {
	f.Add("https://a.example/{traceId}?x={traceId}")
	f.Add("https://a.example:{traceId}/")
	f.Fuzz(func(t *testing.T, template string) {
		l, err := ParseLink(template)
		if err != nil || template == "" {
			return
		}
		var hosts []string
		for _, id := range []string{id, "ffffffffffffffffffffffffffffffff"} {
			u, err := url.Parse(l.To(id))
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(l.To(id), " \"<>\\\n") {
				t.Fatalf("%q leads to %q: %v", template, l.To(id), err)
			}
			hosts = append(hosts, u.Host)
		}
		if hosts[0] != hosts[1] {
			t.Errorf("%q leads to %q", template, hosts)
		}
	})
}
