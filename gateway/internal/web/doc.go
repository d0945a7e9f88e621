// Package web is the buyer's page: one HTML document with its style, its script and its words
// inside, put together when the gateway starts. The page's script calls the gateway's API as
// any buyer's app does. Local, which only gateways on loopback have, plays the shop around it:
// it alone asks somebody else, a worker, to whom it reports payments.
//
// Trust: the page is the same for everybody and holds no secret. Its policy lets a browser
// run this script, use this style and call this origin, and nothing else.
package web
