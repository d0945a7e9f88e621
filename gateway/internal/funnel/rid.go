package funnel

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// drawRID draws a UUIDv7 of a moment that is not this process's: any gateway may read
// it back.
func drawRID(at time.Time) string {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	var rid uuid.UUID
	_, _ = rand.Read(rid[:]) // fails only without randomness, which ends the process
	copy(rid[:6], ms[2:])
	rid[6] = rid[6]&0x0f | 0x70 // version 7
	rid[8] = rid[8]&0x3f | 0x80 // variant of RFC 9562
	return rid.String()
}
