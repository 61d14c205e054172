// Package notifyfile has the settings of package notify as a file in YAML: who is told, and of what.
//
//	c, err := notifyfile.Read("notify.yaml")
//	endpoints, err := c.Endpoints(nil)
//	n, err := notify.New(led, endpoints, &notify.Options{URL: c.URL})
//
// A file may look like this:
//
//	url: https://posthouse.example.com # where people reach the pages: links lead there
//	webhooks:
//	  - name: ops
//	    url: https://ops.example.com/posthouse
//	    secretFile: ops.secret # below the directory of this file, unless it begins with /
//	    events: [gate.opened, gate.decided]
//	    when:
//	      gates: [refund*]
//	      content:
//	        - {at: /amount, above: "1000"}
//
// A key that is not known is an error that suggests the nearest one.
//
// Other kinds of endpoints have a section of their own, if the binary links them: [Read] takes each as a
// [Kind]. Modules github.com/posthouse/posthouse/slack and github.com/posthouse/posthouse/mail have one
// each.
package notifyfile
