package address

import (
	"net/url"
	"strings"
)

// hidden stands for what is not shown.
const hidden = "xxxxx"

// Redacted returns an address to show: each password, and each token that stands for a
// user of NATS, is xxxxx, before the host and in parameters. It takes any text, also an
// address that is malformed or has several hosts, and then hides more rather than less.
// The address of a file stays as it is.
func Redacted(address string) string {
	address = strings.TrimSpace(address)
	scheme, rest, ok := strings.Cut(address, ":")
	kind := strings.ToLower(scheme)
	switch {
	case !ok && !strings.ContainsAny(address, "@=?"), kind == "file", kind == "sqlite", kind == "memory":
		return address
	case !ok, !isScheme(scheme):
		return hidden
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		hosts, path, slash := strings.Cut(after, "/")
		if strings.Contains(path+query+fragment, "@") { // several addresses, or a password with a slash
			whole := after + "?" + query + "#" + fragment
			return scheme + "://" + hidden + "@" + strings.TrimRight(withoutSecrets(whole[strings.LastIndex(whole, "@")+1:]), "?#")
		}
		rest = "//" + withoutUsers(hosts, kind == "nats" || kind == "tls")
		if slash {
			rest += "/" + path
		}
	} else if at := strings.LastIndex(rest, "@"); at >= 0 && kind != "nats" {
		rest = hidden + rest[at:]
	}
	if query != "" {
		rest += "?" + hideParameters(query)
	}
	return scheme + ":" + rest
}

// withoutSecrets hides the parameters of the rest of an address.
func withoutSecrets(rest string) string {
	before, query, _ := strings.Cut(rest, "?")
	return before + "?" + hideParameters(strings.TrimRight(query, "#"))
}

// withoutUsers hides the passwords of hosts with commas between. For NATS, a user without
// a password is a token.
func withoutUsers(hosts string, tokens bool) string {
	all := strings.Split(hosts, ",")
	for i, one := range all {
		at := strings.LastIndex(one, "@")
		if at < 0 {
			continue
		}
		user, _, password := strings.Cut(one[:at], ":")
		switch {
		case password:
			user += ":" + hidden
		case tokens:
			user = hidden
		}
		all[i] = user + one[at:]
	}
	return strings.Join(all, ",")
}

// hideParameters hides the values of parameters with names that say they are secret.
func hideParameters(query string) string {
	all := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, one := range all {
		name, value, _ := strings.Cut(one, "=")
		plain, err := url.QueryUnescape(name)
		if value != "" && (err != nil || isSecret(plain)) {
			all[i] = name + "=" + hidden
		}
	}
	return strings.Join(all, "&")
}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"pass", "pwd", "secret", "token", "credential", "auth", "accesskey", "access_key", "access-key"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// isScheme reports whether a text can be the scheme of an address.
func isScheme(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || (r < '0' || r > '9') && r != '+' && r != '-' && r != '.') {
			return false
		}
	}
	return s != "" && len(s) <= 32
}
