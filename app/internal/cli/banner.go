package cli

import (
	"os"
	"strconv"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
)

// banner prints where everything is, and what to type next.
func (s *serving) banner(h *host.Host) {
	e := s.env
	lines := map[string]string{
		"api": h.URL + "/api", "page": h.URL + "/", "docs": h.URL + "/docs", "store": h.StoreURL, "token": h.TokenFile,
		"pid": strconv.Itoa(os.Getpid()),
	}
	from := settings.Of(s.flags.Lookup("store"))
	if from.Origin == settings.Fallback {
		lines["storeFrom"] = from.From
	}
	if h.Link != nil {
		lines["nats"] = h.Link.Address()
	}
	login := s.loginLink(h)
	if login != "" {
		lines["login"] = login
	}
	next := e.Named(nextCommand(e, h))
	if p := h.Ledger.EncryptionStatus(); p.EncryptsAtRest {
		lines["encryptionKey"] = p.EncryptionKey
	}
	if e.Structured() {
		lines["next"] = next
		_ = e.Encode(lines) // a reader that is gone does not stop the server
		return
	}
	store := h.StoreURL
	if from.Origin == settings.Fallback {
		store += " (from " + from.From + ")"
	}
	if store == "memory:" {
		store += " (gone when this process ends)"
	}
	fields := []string{"API", lines["api"], "Page", lines["page"]}
	if login != "" {
		fields = append(fields, "Log in", login+" (once, within 10 minutes)")
	}
	fields = append(fields, "Docs", lines["docs"], "Store", store)
	if at := lines["nats"]; at != "" {
		fields = append(fields, "NATS", at)
	}
	if id := lines["encryptionKey"]; id != "" {
		fields = append(fields, "Encrypted", "with key "+id)
	}
	fields = append(fields, h.Set.Notes...)
	token := h.TokenFile
	if h.TokenGone {
		token += e.Named(" (no longer good; make another: posthouse token create --role operator)")
	}
	e.Fields(append(fields, "Token file", token, "PID", lines["pid"])...)
	e.Line("\nnext: %s", next)
}

// loginLink returns a link that logs a browser in, for dev; "" where its token is not there any more.
func (s *serving) loginLink(h *host.Host) string {
	if !s.dev || h.TokenGone {
		return ""
	}
	secret, err := datadir.ReadToken(h.TokenFile)
	if err != nil {
		return ""
	}
	path, err := h.Server.LoginLink(secret)
	if err != nil {
		return ""
	}
	return h.URL + path
}

// nextCommand is what to type in another terminal. It names what differs from the
// defaults.
func nextCommand(e *env.Env, h *host.Host) string {
	cmd := "posthouse inbox"
	if h.Set.Next != "" {
		cmd = "posthouse " + h.Set.Next
	}
	if e.DataDir != "" {
		cmd += " --data-dir " + env.Quoted(e.DataDir)
	}
	if h.URL != env.DefaultServer {
		cmd += " --server " + h.URL
	}
	return cmd
}
