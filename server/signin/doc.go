// Package signin lets people log in to a server with an account that they have elsewhere.
//
//	s, err := server.New(server.Options{SignIn: provider})
//
// A [Provider] sends the browser to where people log in, and says who came back. Module
// github.com/posthouse/posthouse/oidc has one for OpenID Connect, so that nobody links it who does
// not use it. [Roles] say which role a person gets.
//
// Such a login is a browser's only. It ends by itself after [Options].Lifetime, and when the server
// has another provider, or no provider. The provider is not asked in between.
package signin
