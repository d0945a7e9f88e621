package auth

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
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

// maxTicket is the length of the longest ticket there is.
var maxTicket = ticketEncoding.EncodedLen(ridSize+1+maxSaleID) + 1 + ticketEncoding.EncodedLen(ticketMACSize)

// TicketRef is what a ticket refers to.
type TicketRef struct {
	SaleID string
	Slot   int    // 1..sale.MaxPerUserLimit
	RID    string // UUID in canonical form
}

// TicketSigner signs and opens tickets. It may be used concurrently.
type TicketSigner struct {
	key []byte
}

// NewTicketSigner takes the key, at least 32 bytes, that every gateway shares.
func NewTicketSigner(key []byte) (*TicketSigner, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	return &TicketSigner{key: bytes.Clone(key)}, nil
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
	if err != nil || id.String() != rid || slot < 1 || slot > sale.MaxPerUserLimit || sale.ValidateID(saleID) != nil {
		return ""
	}
	payload := make([]byte, 0, ridSize+1+maxSaleID)
	payload = append(payload, id[:]...)
	payload = append(payload, byte(slot))
	payload = append(payload, saleID...)
	return ticketEncoding.EncodeToString(payload) + "." + ticketEncoding.EncodeToString(s.mac(saleID, userID, payload))
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

// mac covers every field behind its length, so that no two tickets feed it the
// same bytes.
func (s *TicketSigner) mac(saleID, userID string, payload []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	for _, field := range [][]byte{
		[]byte(ticketVersion), []byte(saleID), []byte(userID), payload[ridSize : ridSize+1], payload[:ridSize],
	} {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(field))))
		mac.Write(field)
	}
	return mac.Sum(nil)[:ticketMACSize]
}
