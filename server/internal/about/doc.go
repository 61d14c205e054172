// Package about is what a server tells of itself: /api/encryption, /api/me, /version and
// /openapi.json.
package about
