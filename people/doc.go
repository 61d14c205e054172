// Package people lists the names of those who decide, as far as a store has them.
//
//	found, err := people.Of(ctx, led, nil)
//	for _, p := range found.People {
//		fmt.Println(p.Name, p.Known, p.Last)
//	}
//
// A name is known from a decision or vote, from a question that is assigned to it, from a
// delegation, or as a substitute: see [Source]. The first two say that there is such a person, the
// others that somebody wrote the name. The store knows no roles and no logins; a server adds those.
package people
