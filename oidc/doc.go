// Package oidc lets people log in to a server with OpenID Connect.
//
//	app.Main(app.Programs{Open: programs, OpenSignIn: oidc.Open})
//
// It is a module of its own, so that nobody links it who does not use it. The command serve then
// has flags for the provider:
//
//	posthouse serve --oidc-issuer https://accounts.example.com --oidc-client-id posthouse \
//		--oidc-client-secret-file secret --oidc-url https://posthouse.example.com \
//		--oidc-role viewer=* --oidc-role approver=group:finance --oidc-role operator=ann@example.com
//
// It is the authorization code flow with PKCE, a state and a nonce. The ID token must be signed by
// the issuer's keys, for this client, and not be older than it says. A person is named by their
// e-mail address, which the issuer must have verified, or by another claim.
//
// The provider is asked at a login only, so a server starts, and tokens work, while it is away.
package oidc
