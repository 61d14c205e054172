package audit

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/authlog"
)

// methods are the words for how a client showed who it is.
var methods = map[string]string{
	authlog.ByToken: "by token", authlog.ByLink: "by link", authlog.ByAccount: "by an account elsewhere",
	authlog.ByHeader: "by the header of a request", authlog.ByMessage: "by a message",
}

// access says in one line what is on record of a login, a refusal or a token.
func access(s *posthouse.Signal) string {
	var v authlog.Act
	if json.Unmarshal(s.Value, &v) != nil {
		return ""
	}
	if v.Count > 0 {
		return sums(&v)
	}
	var all []string
	add := func(text, before string) {
		if text != "" {
			all = append(all, before+text)
		}
	}
	if kind := authlog.Kind(s.Name); kind == authlog.TokenMade || kind == authlog.TokenRevoked || kind == authlog.TokenConfirmed {
		add(v.Person, "")
	}
	add(v.Role, "")
	add(strings.Join(v.Groups, ", "), "groups ")
	if known, ok := methods[v.Method]; ok {
		v.Method = known
	}
	add(v.Method, "")
	add(v.Address, "from ")
	if !v.Expires.IsZero() {
		all = append(all, "until "+v.Expires.UTC().Format("2006-01-02 15:04 UTC"))
	}
	add(v.Why, "")
	if v.Beside {
		all = append(all, "beside the server")
	}
	return strings.Join(all, " · ")
}

// sums says in whose name, or where from, how many of a sum came.
func sums(v *authlog.Act) string {
	var of []string
	for _, s := range v.Of {
		name := s.Name
		if name == "" {
			name = "unknown"
		}
		of = append(of, name+" "+strconv.Itoa(s.Count))
	}
	if v.Others > 0 {
		of = append(of, "others "+strconv.Itoa(v.Others))
	}
	return joined(": ", strconv.Itoa(v.Count)+" times", strings.Join(of, ", "))
}
