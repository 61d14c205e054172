package main

// The whole of it; the model is asked three times: twice last night, and once
// by the replay.
func Example() {
	main()
	// Output:
	// # Last night
	// (asking the model: how many pieces: twelve lamps, please)
	// (asking the model: price of a lamp)
	//  0 input           pieces 0, price 0, total 0, next [read]
	//  1 node   read     pieces 12, price 0, total 0, next [price]
	//  2 node   price    pieces 12, price 400, total 0, next [total]
	//  3 node   total    pieces 12, price 400, total 4800, next [send]
	//  4 node   send     pieces 12, price 400, total 4800, next []
	//
	// # What the price step did
	// Notes/1:  -> "400 each"
	// Price:  -> 400
	//
	// # With the right price: a fork, looked at before it runs
	// flowchart TD
	//   n0(["start"])
	//   n1["read"]
	//   n2["price"]
	//   n3["total"]
	//   n4["ask-boss"]
	//   n5["send"]
	//   n6(["end"])
	//   n0 --> n1
	//   n1 --> n2
	//   n2 --> n3
	//   n3 -.->|route| n4
	//   n3 -.->|route| n5
	//   n4 --> n5
	//   n5 --> n6
	//   classDef done fill:#dcfce7,stroke:#16a34a,stroke-width:2px
	//   class n1,n2 done
	//   classDef next fill:#dbeafe,stroke:#2563eb,stroke-width:2px
	//   class n3 next
	//
	// total 48000 instead of 4800, ["12 pieces" "400 each" "the boss knows" "sent: 48000"]
	// Notes/2: "sent: 4800" -> "the boss knows"
	// Notes/3:  -> "sent: 48000"
	// Price: 400 -> 4000
	// Total: 4800 -> 48000
	//
	// # Was it bad luck? The price step again, with a fresh answer
	// (asking the model: price of a lamp)
	// price 400, total 4800
	//
	// # Put right where it happened, and sent anew
	// total 48000, ["12 pieces" "400 each" "sent: 4800" "the boss knows" "sent: 48000"]
	//
	// # What really happened is still there
	// branch main
	// branch again
	// branch right-price
	// last night: total 4800, ["12 pieces" "400 each" "sent: 4800"]
}
