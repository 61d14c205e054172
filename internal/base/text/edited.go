package text

// EditedTo begins the reason of a decision that approves what a gate was edited to. The editor's text
// comes after it.
func EditedTo(gate string) string { return "edited gate " + gate + " to this. " }
