package client

import (
	"net/url"
	"strings"

	"github.com/posthouse/posthouse/internal/base/loopback"
)

// Local reports whether the address is this machine's.
func Local(base string) bool {
	u, err := url.Parse(base)
	return err == nil && loopback.Is(u.Hostname())
}

// Path joins segments, each escaped: an id with odd characters stays one
// segment.
func Path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// ThreadPath is the path of a thread, or of what is below it. A name that cannot be
// a segment of a path, . or .., is a parameter instead.
func ThreadPath(name string, segments ...string) string {
	q := url.Values{}
	path := "/api/threads/" + segment(q, "thread", name)
	for i, s := range segments {
		if i > 0 && segments[i-1] == "signals" {
			s = segment(q, "signal", s)
		} else {
			s = url.PathEscape(s)
		}
		path += "/" + s
	}
	return withQuery(path, q)
}

// AgentPath is the path of an agent, as [ThreadPath] is that of a thread.
func AgentPath(name string) string {
	q := url.Values{}
	return withQuery("/api/agents/"+segment(q, "agent", name), q)
}

// ProgramPath is the path of a program, or of what is below it, as [ThreadPath] is that of a thread.
func ProgramPath(name string, segments ...string) string {
	q := url.Values{}
	return withQuery("/api/programs/"+segment(q, "program", name)+Path(segments...), q)
}

func segment(q url.Values, param, name string) string {
	if name != "." && name != ".." {
		return url.PathEscape(name)
	}
	q.Set(param, name)
	return "-"
}

func withQuery(path string, q url.Values) string {
	switch {
	case len(q) == 0:
		return path
	case strings.Contains(path, "?"):
		return path + "&" + q.Encode()
	}
	return path + "?" + q.Encode()
}
