package auth

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/shared/sale"
)

// plainClaims are the claims of a token as far as they matter here.
type plainClaims struct {
	identity              Identity
	times                 times
	byIssuer, forAudience bool // by and for whom a token must be
}

// plainReader takes apart a JSON object whose members each are there once and of the type
// that is read, in memory that it uses again. Once it is not of that form it is lost, and
// reads nothing more: what that means is for the parser to say.
type plainReader struct {
	from    bytes.Reader
	decoder jsontext.Decoder // refuses a name that is there twice, and invalid UTF-8
	lost    bool
}

// header reports whether a header is of a token that is signed with a secret, and says
// nothing else that would matter.
func (r *plainReader) header(text []byte) bool {
	secret := false
	r.begin(text)
	for r.another() {
		switch name := r.read(jsontext.KindString); name.String() {
		case "alg":
			secret = r.read(jsontext.KindString).String() == "HS256"
		case "typ", "kid":
			r.read(jsontext.KindString)
		default:
			r.lost = true
		}
	}
	return r.ended() && secret
}

// claims reads claims; false where the parser has the word.
func (r *plainReader) claims(text []byte, issuer, audience string) (c plainClaims, ok bool) {
	r.begin(text)
	for r.another() {
		switch name := r.read(jsontext.KindString); name.String() {
		case "iss":
			c.byIssuer = r.read(jsontext.KindString).String() == issuer
		case "aud":
			r.texts(func(one jsontext.Token) { c.forAudience = c.forAudience || one.String() == audience })
		case "sub":
			c.identity.UserID = r.read(jsontext.KindString).String()
		case "exp":
			c.times.expires = r.moment()
		case "nbf":
			c.times.notBefore = r.moment()
		case "iat":
			c.times.issued = r.moment()
		case claimAccountCreatedAt:
			c.identity.Claims.AccountCreatedAt = r.moment()
		case claimPaidOrders:
			c.identity.Claims.PaidOrders = r.number(1 << 53)
		case claimTags:
			c.identity.Claims.Tags = r.list()
		default:
			r.lost = r.decoder.SkipValue() != nil
		}
	}
	return c, r.ended() && sale.ValidateUserID(c.identity.UserID) == nil
}

func (r *plainReader) begin(text []byte) {
	r.from.Reset(text)
	r.decoder.Reset(&r.from)
	r.lost = false
	r.read(jsontext.KindBeginObject)
}

// another reports whether a member follows.
func (r *plainReader) another() bool {
	return !r.lost && r.decoder.PeekKind() == jsontext.KindString
}

// ended reports whether all was read and understood.
func (r *plainReader) ended() bool {
	r.read(jsontext.KindEndObject)
	_, err := r.decoder.ReadToken()
	return !r.lost && errors.Is(err, io.EOF)
}

// read reads a token of the kind, which is good until the next one is read.
func (r *plainReader) read(kind jsontext.Kind) jsontext.Token {
	if r.lost || r.decoder.PeekKind() != kind {
		r.lost = true
		return jsontext.Null
	}
	token, err := r.decoder.ReadToken()
	r.lost = err != nil
	return token
}

// texts reads a string or a list of some.
func (r *plainReader) texts(each func(jsontext.Token)) {
	if r.decoder.PeekKind() == jsontext.KindString {
		each(r.read(jsontext.KindString))
		return
	}
	for r.read(jsontext.KindBeginArray); r.another(); {
		each(r.read(jsontext.KindString))
	}
	r.read(jsontext.KindEndArray)
}

// list reads a list of strings.
func (r *plainReader) list() []string {
	list := []string{}
	r.lost = r.decoder.PeekKind() != jsontext.KindBeginArray
	r.texts(func(text jsontext.Token) { list = append(list, text.String()) })
	return list
}

// number reads a whole number, from 0, without a fraction or exponent.
func (r *plainReader) number(most int64) int64 {
	token := r.read(jsontext.KindNumber)
	if r.lost {
		return 0
	}
	n, err := token.Int()
	r.lost = err != nil || n < 0 || n > most
	return n
}

// moment reads unix seconds; 0 would pass for absent.
func (r *plainReader) moment() time.Time {
	n := r.number(maxUnix)
	r.lost = r.lost || n == 0
	return time.Unix(n, 0).UTC()
}
