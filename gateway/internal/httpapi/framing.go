package httpapi

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// framedTwice reports whether a request says by an encoding where its body ends, and
// by a length too, or by an encoding that there is not. fasthttp refuses two lengths
// by itself, but lets an encoding beat a length; whatever stands in front of this
// gateway may have done it the other way round, and taken the rest of the body for
// the next request.
func framedTwice(ctx *fasthttp.RequestCtx) bool {
	var length, encoding, chunked bool
	for rest := ctx.Request.Header.RawHeaders(); len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(line) == 0 {
			continue
		}
		switch line[0] | 0x20 { // in lower case, if it is a letter
		case 'c':
			if _, is := valueOf(line, fasthttp.HeaderContentLength); is {
				length = true
			}
		case 't':
			if value, is := valueOf(line, fasthttp.HeaderTransferEncoding); is {
				encoding, chunked = true, bytes.EqualFold(value, []byte("chunked"))
			}
		}
	}
	return encoding && (length || !chunked)
}

// valueOf is the value that a line gives the header, if it is the header's.
func valueOf(line []byte, header string) (value []byte, is bool) {
	if len(line) <= len(header) || line[len(header)] != ':' || !bytes.EqualFold(line[:len(header)], []byte(header)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(header)+1:]), true
}

// refuseFraming answers, and ends the connection: what follows on it may be the
// rest of a body.
func refuseFraming(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	invalidRequest(fasthttp.HeaderTransferEncoding, detailFramedTwice).write(ctx)
}
