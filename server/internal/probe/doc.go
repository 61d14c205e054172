// Package probe has /healthz and /readyz: whether the process is alive, and whether its store answers and
// takes writes. Both need no token and answer for every Host, as what starts and routes servers asks.
package probe
