// Package people has the resources about those who decide: /api/people, who they are; handing the
// right to decide a gate on and taking it back; /api/substitutes, who stands in for whom; and
// /api/waits, for how long questions wait for them.
package people
