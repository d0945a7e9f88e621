package httpapi

import (
	"fmt"

	"sluice/gateway/internal/language"
)

// detail is a sentence that tells a buyer what is the matter with this request.
type detail uint8

// The details, with what is put into their placeholders.
const (
	detailMalformed    detail = iota
	detailUnknownField        // name
	detailNotEmptyObject
	detailDataBehind
	detailKeyOnce
	detailKeyLength // characters
	detailKeyCharacter
	detailWaitOnce
	detailWaitRange // longest wait in seconds
	detailUnauthenticated
	detailTooYoung
	detailTooFewOrders
	detailMissingTag
	detailNotInvited
	detailNotFound
	detailNoSuchSale
	detailNoSuchTicket
	detailOtherMethods
	detailTimeout
	detailSoldOut
	detailClosed
	detailLimitReached
	detailNotOpen
	detailRejected
	detailRetired
	detailTooLarge
	detailTooManyOfAddress
	detailBusy
	detailPaused
	detailAskMyTickets
	detailTicketUnreadable
	detailNoTrailers
	detailHandOverUnknown
	detailTooManyOfUser
	detailConnectionsFull
	detailConnectionsOfAddress
	detailFramedTwice
	detailFollowersFull
	detailUserHeaderOnce    // header
	detailUserHeaderInvalid // header
	detailSendJSON
	detailFieldInvalid // field
	detailPaymentNotStored
	details = iota // how many
)

// words are what a language has for problems. A language has every title and every
// detail, with the placeholders that the English one has.
type words struct {
	titles  [kinds]string
	details [details]string
}

var spoken = [language.Count]*words{language.English: &english, language.Chinese: &chinese}

// say is a detail in a language.
func say(l language.Language, d detail, args []any) string {
	text := spoken[l].details[d]
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}
