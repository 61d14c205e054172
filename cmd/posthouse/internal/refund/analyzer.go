package refund

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
)

// A Recommendation is what the analyzer makes of a request.
type Recommendation struct {
	Order   string   `json:"order,omitempty"`
	Amount  float64  `json:"amount,omitempty"` // as written, in any currency
	Risk    string   `json:"risk"`             // "low", "medium" or "high"
	Action  string   `json:"action"`           // "refund" or "review"
	Reasons []string `json:"reasons"`
}

// Amounts from which a refund is riskier.
const (
	mediumAmount = 100
	highAmount   = 1000
)

// analyze is the analyzer's skill: a table of words, in the place of a model.
func analyze(_ context.Context, call coord.Call) (coord.Result, error) {
	var in State
	if err := call.Bind(&in); err != nil {
		return coord.Result{}, err
	}
	rec, err := assess(in.Request)
	if err != nil {
		return coord.Result{}, err
	}
	return coord.NewResult(rec.String(), State{Request: in.Request, Recommendation: rec})
}

// String says it in a sentence or two.
func (r *Recommendation) String() string {
	subject := "Order " + r.Order
	if r.Order == "" {
		subject = "An order that is not named"
	}
	return fmt.Sprintf("%s: %s risk (%s). Recommendation: %s.", subject, r.Risk, strings.Join(r.Reasons, "; "), r.Action)
}

func refuse(message, hint string) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "request", Message: message, Hint: hint}
}

const tryThis = `try "please refund order 1234"`

// assess rates a request, or says why it makes no sense of it.
func assess(request string) (*Recommendation, error) {
	lower := strings.ToLower(request)
	switch {
	case strings.TrimSpace(request) == "":
		return nil, refuse("is empty", tryThis)
	case !strings.ContainsFunc(request, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return nil, refuse(fmt.Sprintf("%.40q has no words in it", request), tryThis)
	case strings.Contains(lower, "fail analyzer"):
		return nil, refuse("asks the analyzer to fail, so it does", tryThis)
	}
	rec := &Recommendation{Order: orderIn(request), Amount: amountIn(lower), Risk: "low", Action: "refund"}
	raise := func(risk, reason string) {
		if risk == "high" || rec.Risk == "low" {
			rec.Risk = risk
		}
		rec.Reasons = append(rec.Reasons, reason)
	}
	if rec.Order == "" {
		raise("high", "no order number")
	}
	switch amount := strconv.FormatFloat(rec.Amount, 'f', -1, 64); {
	case rec.Amount >= highAmount:
		raise("high", "an amount of "+amount)
	case rec.Amount >= mediumAmount:
		raise("medium", "an amount of "+amount)
	}
	for _, word := range []string{"lawyer", "legal", "chargeback", "fraud"} {
		if strings.Contains(lower, word) {
			raise("high", "speaks of "+word)
		}
	}
	switch {
	case rec.Risk != "low":
		rec.Action = "review"
	case rec.Amount == 0:
		rec.Reasons = []string{"an order number, and no amount that stands out"}
	default:
		rec.Reasons = []string{"an order number and a small amount"}
	}
	return rec, nil
}

const number = `(\d{1,9}(?:\.\d{1,2})?)`

var (
	orderNumber = regexp.MustCompile(`(?i)(?:\border(?:\s+(?:number|no\.?))?\s*#?|#)\s*([a-z-]*\d[a-z0-9-]{0,39})`)
	money       = regexp.MustCompile(`[$€£]\s*` + number + `|` + number + `\s*(?:dollars|euros?|pounds|usd|eur|gbp|[$€£])`)
)

// orderIn returns what looks like an order number: it follows the word order
// or #, and has a digit.
func orderIn(request string) string {
	m := orderNumber.FindStringSubmatch(request)
	if m == nil {
		return ""
	}
	return m[1]
}

// amountIn returns the largest amount of money named.
func amountIn(lower string) (most float64) {
	for _, m := range money.FindAllStringSubmatch(strings.ReplaceAll(lower, ",", ""), -1) {
		n, err := strconv.ParseFloat(m[1]+m[2], 64) // one of the two is empty
		if err == nil {
			most = max(most, n)
		}
	}
	return most
}
