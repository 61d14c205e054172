package traceid

import (
	"errors"
	"net/url"
	"strings"
)

// Placeholder stands for a trace's id in the template of a [Link].
const Placeholder = "{traceId}"

// maxLink bounds a template, in bytes.
const maxLink = 2000

// A Link says where people look at traces. The zero value is nowhere.
type Link struct{ template string }

// ParseLink reads a URL in which [Placeholder] stands for a trace's id, as in https://traces.example.com/trace/{traceId}.
// It fails for what is not a whole http or https URL, has a user or a password in it, or would need an escape. The
// placeholder is in its path, query or fragment. An empty template is nowhere.
func ParseLink(template string) (Link, error) {
	if template == "" {
		return Link{}, nil
	}
	const id = "00000000000000000000000000000001"
	filled := strings.ReplaceAll(template, Placeholder, id)
	u, err := url.Parse(filled)
	switch {
	case len(template) > maxLink:
		return Link{}, errors.New("has more than 2000 bytes")
	case filled == template:
		return Link{}, errors.New("has no " + Placeholder)
	case strings.ContainsFunc(filled, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", r) }):
		return Link{}, errors.New("has a character that a URL has as an escape, as %20 for a space or %7B for {")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return Link{}, errors.New("is not an http or https URL")
	case u.User != nil:
		return Link{}, errors.New("has a user in it: everybody who looks at a thread would read it")
	case strings.Contains(u.Host, id):
		return Link{}, errors.New("has " + Placeholder + " in its host")
	}
	return Link{template}, nil
}

// To returns the URL of a trace, by an id of 32 hexadecimal digits; "" where traces are looked at nowhere, or that is
// no id.
func (l Link) To(id string) string {
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" || l.template == "" {
		return ""
	}
	return strings.ReplaceAll(l.template, Placeholder, id)
}
