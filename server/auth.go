package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// authenticate returns the token of a request, or why the request is refused. The
// token is in the Authorization header, in a WebSocket subprotocol, or behind a
// browser's session cookie; never in a URL. A WebSocket may also send it in its
// first message: then the zero Token is returned.
func (s *Server) authenticate(w http.ResponseWriter, r *api.Request) (tokens.Token, error) {
	if r.Route.Role == "" {
		return tokens.Token{}, nil
	}
	tok, ok, err := s.identify(r)
	secret, credential := bearer(r.Request)
	switch {
	case err != nil:
		return tokens.Token{}, err
	case !ok && r.Route.Style == api.Socket && isUpgrade(r.Request) && !credential:
		return tokens.Token{}, nil
	case !ok:
		if credential {
			s.noteRefused(r.Request, tok, secret)
		}
		return tokens.Token{}, s.unauthenticated(tok)
	}
	s.noteUse(tok)
	api.NoteActor(w, tok.Name)
	return tok, requireRole(tok, r.Route.Role)
}

// identify finds the token of a request. One that has expired is returned with ok
// false.
func (s *Server) identify(r *api.Request) (tok tokens.Token, ok bool, err error) {
	if secret, given := bearer(r.Request); given {
		tok, ok, err = s.tokens.Authenticate(secret)
	} else if c, e := r.Cookie(api.SessionCookie); e == nil {
		if tok, ok = s.sessions.Get(c.Value); ok {
			ok, err = s.tokens.Current(tok)
		}
	}
	if err != nil {
		return tokens.Token{}, false, s.authUnavailable(err)
	}
	return tok, ok, nil
}

// authUnavailable logs why tokens cannot be checked, and returns the error for the
// client.
func (s *Server) authUnavailable(err error) error {
	s.log.Error("tokens cannot be checked", "error", err)
	return &posthouse.Error{
		Code: posthouse.CodeClosed, Message: "nobody can be authenticated now", Hint: "the server's log says what is wrong with its tokens file", Err: err,
	}
}

// bearer returns the secret in a header. given is also true for a header that
// holds something else: a client that tries one way is not let in by another.
func bearer(r *http.Request) (secret string, given bool) {
	if hs := r.Header.Values("Authorization"); len(hs) > 0 {
		scheme, secret, _ := strings.Cut(hs[0], " ")
		if len(hs) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return "", true
		}
		return strings.TrimSpace(secret), true
	}
	if isUpgrade(r) {
		for _, p := range subprotocols(r) {
			if secret, ok := strings.CutPrefix(p, bearerProtocol); ok {
				return secret, true
			}
		}
	}
	return "", false
}

// unauthenticated returns the error for a client without a valid token. x is the
// token that expired, or zero.
func (s *Server) unauthenticated(x tokens.Token) error {
	e := &posthouse.Error{
		Code: problem.CodeUnauthenticated, Message: "a valid access token is needed",
		Hint: "send Authorization: Bearer with the content of the file token in the server's data directory, or make one: posthouse token create",
	}
	if s.tokens.Expired(x) {
		e.Message = "the access token of " + x.Name + " expired at " + x.ExpiresAt.Format(time.RFC3339)
		e.Hint = "have another made where the server's data directory is: posthouse token create --name " + x.Name + " --role " + string(x.Role)
	}
	return e
}

// noteRefused logs that a credential was not accepted. x is the token that expired, or
// zero. A request without a credential is no attempt.
func (s *Server) noteRefused(r *http.Request, x tokens.Token, secret string) {
	why := "nobody has this token"
	switch {
	case s.tokens.Expired(x):
		why = "it expired"
	case secret == "":
		why = "it is no token"
	}
	s.refused.note(r, x.Name, why)
}

func requireRole(t tokens.Token, need tokens.Role) error {
	if t.Role.May(need) {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: "the token " + t.Name + " has the role " + string(t.Role) + "; this needs " + string(need),
		Hint: "use another token: posthouse token create --role " + string(need),
	}
}

// noteUse notes that a token was used, and has it written in the background.
func (s *Server) noteUse(x tokens.Token) {
	if !s.tokens.Used(x) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // Close writes them once more
		return
	}
	s.running.Go(s.saveUsed)
}

func (s *Server) saveUsed() {
	if err := s.tokens.SaveUsed(); err != nil {
		s.log.Warn("when tokens were last used cannot be written", "error", err)
	}
}

// tokenValid reports whether the token of an open stream is still good, and notes
// its use.
func (s *Server) tokenValid(x tokens.Token) bool {
	ok, err := s.tokens.Current(x)
	if ok = ok && err == nil; ok {
		s.noteUse(x)
	}
	return ok
}
