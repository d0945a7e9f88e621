// Package connections gives the places that a server has for connections to those
// who use them.
//
//	accepted ──► too many of this address? ──► 429, closed
//	         ──► a place free? ──► served
//	         ──► somebody awaited for longer than a second? ──► cut, for the newcomer
//	         ──► 503, closed
//
// A client is awaited from when it connects, or has its last answer, until its next
// request is there in full. So whoever fills the places with connections that say
// nothing, or say it slowly, loses them one by one to those who have something to
// ask; a connection whose request is being answered is never cut.
//
// Which of those that are awaited goes is the longest awaited of a few drawn at
// random: to keep them in order would cost every request more than it is worth.
package connections
