package sale

// BuyerOrder is an order as its buyer sees it: with the article it is for.
type BuyerOrder struct {
	Order
	SKU string // of a coupon its template
}
