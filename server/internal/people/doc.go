// Package people has the resources about those who decide: /api/substitutes, who stands in for whom,
// and /api/waits, for how long questions wait for them.
package people
