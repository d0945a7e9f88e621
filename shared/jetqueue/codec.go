package jetqueue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"sluice/shared/sale"
)

// Headers of a hand-over. The sale is in the subject.
const (
	headerSchema = "Sluice-Schema"
	headerEpoch  = "Sluice-Epoch"
	headerCount  = "Sluice-Count"

	schemaVersion = "1"
)

// ErrUnreadable is wrapped by every refusal to decode a hand-over: the message
// itself is at fault and no repetition will change that.
var ErrUnreadable = errors.New("hand-over is unreadable")

// body is the JSON body of a hand-over.
type body struct {
	PriceMinor   int64              `json:"price_minor"`
	Currency     string             `json:"currency"`
	Reservations []sale.Reservation `json:"reservations"`
}

// Encode makes the message of a hand-over. It refuses what Decode would.
func Encode(h sale.HandOver) (*nats.Msg, error) {
	if err := validate(h); err != nil {
		return nil, fmt.Errorf("cannot encode hand-over of sale %q: %w", h.SaleID, err)
	}
	return &nats.Msg{
		Subject: ordersPrefix + h.SaleID,
		Header: nats.Header{
			headerSchema: {schemaVersion},
			headerEpoch:  {strconv.FormatInt(h.Epoch, 10)},
			headerCount:  {strconv.Itoa(len(h.Reservations))},
		},
		Data: appendBody(make([]byte, 0, bodySize(h)), h),
	}, nil
}

// bodySize is a body's size, but for the characters that need escaping.
func bodySize(h sale.HandOver) int {
	const fixed, each = 96, 160
	size := fixed + each*len(h.Reservations)
	for i := range h.Reservations {
		size += len(h.Reservations[i].UserID) + len(h.Reservations[i].Key)
	}
	return size
}

// appendBody writes by hand what encoding/json would write of a body, since
// every accepted attempt passes here.
func appendBody(b []byte, h sale.HandOver) []byte {
	b = append(b, `{"price_minor":`...)
	b = strconv.AppendInt(b, h.PriceMinor, 10)
	b = append(b, `,"currency":"`...)
	b = append(b, h.Currency...)
	b = append(b, `","reservations":[`...)
	for i := range h.Reservations {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendReservation(b, &h.Reservations[i])
	}
	return append(b, "]}"...)
}

func appendReservation(b []byte, r *sale.Reservation) []byte {
	b = append(b, `{"rid":"`...)
	b = append(b, r.RID...)
	b = append(b, `","user":`...)
	b = appendString(b, r.UserID)
	b = append(b, `,"slot":`...)
	b = strconv.AppendInt(b, int64(r.Slot), 10)
	b = append(b, `,"key":`...)
	b = appendString(b, r.Key)
	b = append(b, `,"rank":`...)
	b = strconv.AppendInt(b, r.Rank, 10)
	b = append(b, `,"at":"`...)
	b = r.AcceptedAt.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, `"}`...)
}

// appendString quotes s, which is valid UTF-8 without control characters, so
// that only the quote and the backslash need escaping.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// Decode reads a hand-over. It is strict: an unknown version or field, a count
// that is not the number of reservations, or an id, slot or rank out of its
// range is refused with an error that wraps ErrUnreadable.
func Decode(header nats.Header, subject string, data []byte) (sale.HandOver, error) {
	h, err := decode(header, subject, data)
	if err != nil {
		return sale.HandOver{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return h, nil
}

// DecodeRaw reads a hand-over of a sale from what Raw keeps of its message.
func DecodeRaw(saleID string, header, data []byte) (sale.HandOver, error) {
	decoded, err := nats.DecodeHeadersMsg(header)
	if err != nil {
		return sale.HandOver{}, fmt.Errorf("%w: header: %w", ErrUnreadable, err)
	}
	return Decode(decoded, ordersPrefix+saleID, data)
}

func decode(header nats.Header, subject string, data []byte) (sale.HandOver, error) {
	saleID, err := saleOfSubject(ordersPrefix, subject)
	if err != nil {
		return sale.HandOver{}, err
	}
	if v := header.Get(headerSchema); v != schemaVersion {
		return sale.HandOver{}, fmt.Errorf("schema version %q is not %s", v, schemaVersion)
	}
	epoch, err := headerNumber(header, headerEpoch)
	if err != nil {
		return sale.HandOver{}, err
	}
	count, err := headerNumber(header, headerCount)
	if err != nil {
		return sale.HandOver{}, err
	}
	content, err := decodeBody(data)
	if err != nil {
		return sale.HandOver{}, err
	}
	if int64(len(content.Reservations)) != count {
		return sale.HandOver{}, fmt.Errorf("header counts %d reservations, body has %d", count, len(content.Reservations))
	}
	h := sale.HandOver{
		SaleID: saleID, Epoch: epoch, PriceMinor: content.PriceMinor, Currency: content.Currency,
		Reservations: content.Reservations,
	}
	return h, validate(h)
}

func headerNumber(header nats.Header, name string) (int64, error) {
	text := header.Get(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("header %s is %q, not a number", name, text)
	}
	return n, nil
}

func decodeBody(data []byte) (body, error) {
	if !utf8.Valid(data) { // the decoder would replace what is not, and so change a user id
		return body{}, errors.New("body is not valid UTF-8")
	}
	if content, ok := readBody(data); ok {
		return content, nil
	}
	return parseBody(data)
}

// parseBody reads any JSON that says what a body says.
func parseBody(data []byte) (body, error) {
	var content body
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&content); err != nil {
		return body{}, fmt.Errorf("body: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return body{}, errors.New("body has trailing data")
	}
	for i := range content.Reservations {
		at := &content.Reservations[i].AcceptedAt
		*at = at.UTC().Truncate(time.Millisecond)
	}
	return content, nil
}
