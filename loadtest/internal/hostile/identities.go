package hostile

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Victim is an honest buyer whose name is used.
type Victim struct {
	User   string
	Ticket string
	Order  string // its id
}

// Identities are attempts and reads of a victim's ticket in a name that is not the
// sender's: by forged tokens, and by headers in which nobody is believed.
func (t Target) Identities(v Victim) []Request {
	var requests []Request
	for name, token := range t.forged(v.User) {
		field := "Authorization: Bearer " + token + "\r\n"
		requests = append(requests, refused(name+": read", read401(v.Ticket, field)), refused(name+": tickets", t.myTickets(field)))
	}
	for name, token := range t.forged(t.User) {
		requests = append(requests, refused(name+": attempt", t.head("Authorization: Bearer "+token+"\r\nIdempotency-Key: "+t.User+"\r\n")+"\r\n"))
	}
	for _, name := range []string{UserHeader, "X-User-Id", "X-Forwarded-User", "X-Auth-Request-User", "Remote-User", "From"} {
		requests = append(requests, refused(name+": read", read401(v.Ticket, name+": "+v.User+"\r\n")), refused(name+": tickets", t.myTickets(name+": "+v.User+"\r\n")),
			refused(name+": attempt", t.head(name+": "+t.User+"\r\n")+"\r\n"))
	}
	for name, fields := range map[string]string{
		"basic": "Authorization: Basic YWRhOmFkYQ==\r\n", "scheme alone": "Authorization: Bearer\r\n", "no scheme": "Authorization: " + t.Token + "\r\n", "in a cookie": "Cookie: token=" + t.Token + "\r\n",
		"for a proxy": "Proxy-Authorization: Bearer " + t.Token + "\r\n", "two": strings.Repeat("Authorization: Bearer "+t.Token+"\r\n", 2), "nothing": "",
	} {
		requests = append(requests, refused("token, "+name+": read", read401(v.Ticket, fields)), refused("token, "+name+": attempt", t.head(fields)+"\r\n"))
	}
	return requests
}

func refused(name, text string) Request {
	return Request{Name: name, Bytes: text, Status: http.StatusUnauthorized, Problem: "unauthenticated"}
}

func read401(ticket, fields string) string {
	return "GET /v1/tickets/" + ticket + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n"
}

func (t Target) myTickets(fields string) string {
	return "GET /v1/sales/" + t.Sale + "/tickets/me HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n"
}

// forged are tokens of a user that the shop has not signed, or not so.
func (t Target) forged(user string) map[string]string {
	claims := t.Keys.claims(fmt.Sprintf("%q", user))
	good := t.Keys.sign(claims)
	other := func(from, to string) string { return t.Keys.sign(strings.Replace(claims, from, to, 1)) }
	now := time.Now()
	dated := func(iat, exp time.Time) string {
		return t.Keys.sign(fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":%q,"iat":%d,"exp":%d}`, t.Keys.Issuer, t.Keys.Audience, user, iat.Unix(), exp.Unix()))
	}
	forged := map[string]string{
		"another key": signed(hs256, claims, "another secret of at least 32 bytes!"), "empty key": signed(hs256, claims, ""), "RS256 by name": signed(`{"alg":"RS256"}`, claims, t.Keys.JWT),
		"no algorithm": signed(`{"typ":"JWT"}`, claims, t.Keys.JWT), "none": encoded(`{"alg":"none"}`) + "." + encoded(claims) + ".", "nOnE": encoded(`{"alg":"nOnE"}`) + "." + encoded(claims) + ".",
		"its own key": signed(`{"alg":"HS256","jwk":{"kty":"oct","k":"YQ"}}`, claims, "a"), "key elsewhere": signed(`{"alg":"HS256","kid":"../../dev/null"}`, claims, ""),
		"another issuer": other(t.Keys.Issuer, "elsewhere"), "another audience": other(`"`+t.Keys.Audience+`"`, `"elsewhere"`), "without an end": other(`,"exp"`, `,"expires"`),
		"expired": dated(now.Add(-2*time.Hour), now.Add(-time.Hour)), "from the future": dated(now.Add(time.Hour), now.Add(2*time.Hour)), "for a week": dated(now, now.Add(7*24*time.Hour)),
		"cut": good[:len(good)-1], "two parts": good[:strings.LastIndexByte(good, '.')], "four parts": good + ".x", "padded": good + "=", "empty": "", "no token": "x",
	}
	for i := 0; i < len(good); i += 11 { // each that counts is another once
		if good[i] != '.' {
			forged[fmt.Sprint("flipped at ", i)] = good[:i] + flipped(good[i]) + good[i+1:]
		}
	}
	return forged
}
