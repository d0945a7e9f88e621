package auth

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/google/uuid"

	"sluice/shared/sale"
)

// ErrTicket is the one error for tickets that are malformed, forged, somebody
// else's or spelt in another way: whoever probes learns nothing from it.
var ErrTicket = errors.New("no such ticket")

const (
	ticketVersion = "sluice-ticket-1"
	ticketMACSize = 16
	ridSize       = 16
	maxSaleID     = 64
)

// ticketEncoding ignores stray bits and newlines on decoding; Open compares the
// whole spelling, so that it does not matter.
var ticketEncoding = base64.RawURLEncoding

// maxTicket is the length of the longest ticket there is: base64 takes 4 characters for 3 bytes.
const maxTicket = ((ridSize+1+maxSaleID)*4+2)/3 + 1 + (ticketMACSize*4+2)/3

// TicketRef is what a ticket refers to.
type TicketRef struct {
	SaleID string
	Slot   int    // 1..sale.MaxPerUserLimit
	RID    string // UUID in canonical form
}

// TicketSigner signs and opens tickets. It may be used concurrently.
type TicketSigner struct {
	macs *macs
}

// NewTicketSigner takes the key, at least 32 bytes, that every gateway shares.
func NewTicketSigner(key []byte) (*TicketSigner, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	return &TicketSigner{macs: newMACs(bytes.Clone(key))}, nil
}

// Sign writes the ticket of a reservation:
//
//	base64url(rid, 16 bytes | slot, 1 byte | sale id) "." base64url(MAC, 16 bytes)
//
// The user is in the MAC only, so that a foreign ticket looks like a forged one.
// It is a function of its arguments alone. A rid that is not a canonical UUID, a
// slot outside 1..20 or a bad sale id has no ticket: the result is "".
func (s *TicketSigner) Sign(saleID, userID string, slot int, rid string) string {
	id, err := uuid.Parse(rid)
	if err != nil || sale.ValidateRID(rid) != nil || slot < 1 || slot > sale.MaxPerUserLimit || sale.ValidateID(saleID) != nil {
		return ""
	}
	payload := make([]byte, 0, ridSize+1+maxSaleID)
	payload = append(payload, id[:]...)
	payload = append(payload, byte(slot))
	payload = append(payload, saleID...)
	ticket := ticketEncoding.AppendEncode(make([]byte, 0, maxTicket), payload)
	return string(s.appendMAC(append(ticket, '.'), saleID, userID, payload))
}

// Open returns what a ticket refers to if it is exactly the string that was
// signed for this user, else ErrTicket.
func (s *TicketSigner) Open(ticket, userID string) (TicketRef, error) {
	if len(ticket) > maxTicket {
		return TicketRef{}, ErrTicket
	}
	encoded, _, _ := strings.Cut(ticket, ".")
	payload, err := ticketEncoding.DecodeString(encoded)
	if err != nil || len(payload) <= ridSize+1 {
		return TicketRef{}, ErrTicket
	}
	ref := TicketRef{
		RID:    uuid.UUID(payload[:ridSize]).String(),
		Slot:   int(payload[ridSize]),
		SaleID: string(payload[ridSize+1:]),
	}
	// Comparing with the ticket signed anew checks the MAC and the spelling at once.
	signed := s.Sign(ref.SaleID, userID, ref.Slot, ref.RID)
	if signed == "" || !hmac.Equal([]byte(signed), []byte(ticket)) {
		return TicketRef{}, ErrTicket
	}
	return ref, nil
}

// appendMAC appends the MAC, encoded. It covers every field behind its length, so that no
// two tickets feed it the same bytes.
func (s *TicketSigner) appendMAC(ticket []byte, saleID, userID string, payload []byte) []byte {
	w := idleWorkspaces.Get().(*workspace)
	defer idleWorkspaces.Put(w)
	w.text = appendField(w.text[:0], ticketVersion)
	w.text = appendField(w.text, saleID)
	w.text = appendField(w.text, userID)
	w.text = appendField(w.text, payload[ridSize:ridSize+1])
	w.text = appendField(w.text, payload[:ridSize])
	w.mac = s.macs.of(w.mac[:0], w.text)
	return ticketEncoding.AppendEncode(ticket, w.mac[:ticketMACSize])
}

func appendField[T string | []byte](text []byte, field T) []byte {
	return append(binary.BigEndian.AppendUint32(text, uint32(len(field))), field...)
}
