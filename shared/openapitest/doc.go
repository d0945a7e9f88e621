// Package openapitest holds every response that a service's tests get against the
// service's OpenAPI document, and the document against the tests: a response that
// is not documented fails the test that got it, a documented one that no test got
// fails the run. It is for tests only.
//
//	request, response ──► operation ──► status ──► headers, schema ──► seen
//	                          │ none
//	                          └──► x-unmatched-request, x-unreadable-request
//
// OpenAPI has no place for answers to what is no operation. The document lists
// them in two members of its own, each a map from a status to the name of a
// response in its components: x-unmatched-request for paths and methods that it
// does not have, x-unreadable-request for what the server could not, or would not,
// read as a request.
//
// A body of text/event-stream is held to be events, each with an id, a name and data of
// the schema that x-events, a member of the media type, has for that name.
//
// HEAD is GET without the body. A path has one spelling: one that would have to be
// decoded or cleaned first is unmatched.
package openapitest
