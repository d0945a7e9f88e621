package pricing

// Quote is what a cart costs, and why. Its JSON is the answer of POST /v1/quotes: lists
// are ascending by id, merchant or party, never null.
type Quote struct {
	Currency      string        `json:"currency"`
	PayableMinor  int64         `json:"payable"`
	DiscountMinor int64         `json:"discount"`
	Coupons       []Used        `json:"coupons"`
	Lines         []LinePrice   `json:"lines"`
	Shipping      []ParcelPrice `json:"shipping"`
	Bearers       []BearerShare `json:"bearers"` // parties that bear nothing are left out
	Rejected      []Rejection   `json:"rejected"`
	Exact         bool          `json:"exact"`                // there is no better combination
	Method        Method        `json:"method"`               // by which the combination was found
	Nodes         int64         `json:"nodes"`                // of the search
	MaxMissed     *int64        `json:"max_missed,omitempty"` // unless exact: at most so much less would be payable

	// Shares say what every coupon takes of every line and parcel and who bears it, in
	// the order in which coupons are applied and their bearers listed. Zeros are left out.
	Shares []Share `json:"-"`
}

// Method is how a combination was found.
type Method string

// Methods of the search.
const (
	MethodExact  Method = "exact"
	MethodGreedy Method = "greedy"
)

// Used is a coupon that takes something off.
type Used struct {
	ID            string `json:"id"`
	DiscountMinor int64  `json:"discount"`
}

// LinePrice is what a line costs.
type LinePrice struct {
	ID            string `json:"id"`
	AmountMinor   int64  `json:"amount"`
	DiscountMinor int64  `json:"discount"`
	PayableMinor  int64  `json:"payable"`
}

// ParcelPrice is what a parcel costs.
type ParcelPrice struct {
	Merchant      string `json:"merchant"`
	AmountMinor   int64  `json:"amount"`
	DiscountMinor int64  `json:"discount"`
	PayableMinor  int64  `json:"payable"`
}

// BearerShare is what a party bears of all discounts.
type BearerShare struct {
	Party         string `json:"party"`
	DiscountMinor int64  `json:"discount"`
}

// Reason is why a coupon is not used.
type Reason string

// Reasons, in the order in which they are looked for.
const (
	ReasonCurrency     Reason = "currency"
	ReasonNotStarted   Reason = "not_started"
	ReasonExpired      Reason = "expired"
	ReasonOutOfScope   Reason = "out_of_scope"
	ReasonBelowMinimum Reason = "below_minimum"
	ReasonNoEffect     Reason = "no_effect"
	ReasonNotBest      Reason = "not_best"
	// ReasonNotCombinable is of coupons that were asked for together, see Exactly.
	ReasonNotCombinable Reason = "not_combinable"
)

// Rejection is a coupon that is not used.
type Rejection struct {
	ID     string `json:"id"`
	Reason Reason `json:"reason"`
}

// Share is what a party bears of what a coupon takes off a line or a parcel.
type Share struct {
	CouponID      string `json:"coupon_id"`
	LineID        string `json:"line_id,omitempty"`  // of a line, or
	Merchant      string `json:"merchant,omitempty"` // of a parcel
	Parcel        bool   `json:"parcel,omitempty"`
	Party         string `json:"party"`
	DiscountMinor int64  `json:"discount"`
}
