package host

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/signin"
)

// signIn opens the provider by which people log in; nil: there is no provider.
func (o *Options) signIn() (signin.Provider, error) {
	if o.SignIn == nil {
		return nil, nil
	}
	if o.OpenSignIn == nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "this binary is built without what people log in by",
			Hint: "give Programs.OpenSignIn, as oidc.Open of module github.com/posthouse/posthouse/oidc",
		}
	}
	return o.OpenSignIn(o.SignIn)
}
