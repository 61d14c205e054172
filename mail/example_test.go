package mail_test

import (
	"fmt"

	"github.com/posthouse/posthouse/mail"
	"github.com/posthouse/posthouse/notify"
)

// Alice gets a mail of each refund that she may decide.
func Example() {
	sender, err := mail.New(&mail.Options{
		Server: "smtp.example.com:587", From: "Posthouse <posthouse@example.com>",
		People: map[string]string{"alice": "alice@example.com"},
	})
	if err != nil {
		panic(err)
	}
	channel, err := sender.Channel(nil)
	if err != nil {
		panic(err)
	}
	endpoint := notify.Endpoint{Name: "mail", Channel: channel, Rule: notify.Rule{Gates: []string{"refund*"}}}
	fmt.Println(endpoint.Validate(), channel.Address())
	// Output: <nil> smtp://smtp.example.com:587 to 1 mailboxes
}
