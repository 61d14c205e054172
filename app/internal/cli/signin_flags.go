package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/server/signin"
)

// signInFlags are the flags of the provider that people log in by.
type signInFlags struct {
	options    signin.Options
	secretFile string
	roles      []string
	lifetime   env.Span
}

func (s *signInFlags) add(f *pflag.FlagSet) {
	o := &s.options
	f.StringVar(&o.Issuer, "oidc-issuer", "", "let people log in with OpenID Connect, at this provider's URL")
	f.StringVar(&o.Was, "oidc-was", "", "the issuer that this one replaces: names that people have by their accounts there pass to their accounts here")
	f.StringVar(&o.ClientID, "oidc-client-id", "", "of this server at the provider")
	f.StringVar(&s.secretFile, "oidc-client-secret-file", "", "file with the client's secret")
	f.StringVar(&o.URL, "oidc-url", "", "this server's URL in people's browsers; the provider leads back to "+signin.CallbackPath+" below it")
	f.StringVar(&o.NameClaim, "oidc-name-claim", "email", "claim that names a person; an e-mail address must be verified")
	f.StringVar(&o.GroupsClaim, "oidc-groups-claim", "groups", "claim that lists a person's groups")
	f.StringArrayVar(&s.roles, "oidc-role", nil, "who has which role, as in approver=ann@example.com, operator=group:platform or viewer=*; may be repeated")
	s.lifetime = env.Span(12 * time.Hour)
	f.Var(&s.lifetime, "oidc-lifetime", "how long a login lasts")
}

// provider returns what the flags say, nil without an issuer.
func (s *signInFlags) provider() (*signin.Options, error) {
	o := s.options
	if o.Issuer == "" {
		return nil, nil
	}
	o.Lifetime = time.Duration(s.lifetime)
	for _, text := range s.roles {
		r, err := signin.ParseRule(text)
		if err != nil {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "oidc-role", Message: "cannot be read", Err: err}
		}
		o.Roles = append(o.Roles, r)
	}
	if s.secretFile != "" {
		secret, err := datadir.ReadToken(s.secretFile)
		if err != nil {
			return nil, err
		}
		o.ClientSecret = secret
	}
	return &o, nil
}
