package host

import (
	"crypto/rand"
	"os"
	"strings"
)

// processName names this process in leases: the host, which people know, and a random part, so that no
// two processes have one name. It is formed like an id.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	host = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' {
			return c
		}
		return -1
	}, host)
	const most = 60
	host = host[:min(len(host), most)]
	if host == "" {
		host = "host"
	}
	return host + "." + strings.ToLower(rand.Text()[:10])
}
