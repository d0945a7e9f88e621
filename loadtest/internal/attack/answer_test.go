package attack

import (
	"encoding/base64"
	"testing"

	"github.com/google/uuid"
	"sluice/shared/sale"
)

func TestOutcomeOf_EveryAnswerHasAName(t *testing.T) {
	t.Parallel()
	cases := []struct {
		status int
		body   string
		want   string
	}{
		{202, `{}`, sale.Accepted.String()},
		{201, `{}`, sale.Confirmed.String()},
		{200, `{"replay":true}`, sale.Replay.String()},
		{409, `{"type":"/problems/sold-out"}`, sale.SoldOut.String()},
		{409, `{"type":"/problems/not-open"}`, sale.NotOpen.String()},
		{409, `{"type":"/problems/closed"}`, sale.OutOfWindow.String()},
		{409, `{"type":"/problems/limit-reached"}`, sale.LimitReached.String()},
		{400, `{"type":"/problems/invalid-request"}`, sale.Invalid.String()},
		{429, `{"type":"/problems/too-many-requests"}`, sale.TooMany.String()},
		{404, `{"type":"/problems/no-such-sale"}`, sale.NoSuchSale.String()},
		{503, `{"type":"/problems/busy"}`, sale.Busy.String()},
		{503, `{"type":"/problems/unavailable"}`, sale.Unavailable.String()},
		{502, `bad gateway`, "status_502"},
		{500, `{"type":"/problems/half`, "status_500"},
	}
	for _, c := range cases {
		if got := outcomeOf(c.status, []byte(c.body)); got != c.want {
			t.Errorf("%d %s is %q, want %q", c.status, c.body, got, c.want)
		}
	}
}

func TestTicketIn_ReadsOnlyAnswersWithATicket(t *testing.T) {
	t.Parallel()
	body := []byte(`{"ticket":"abc.def","status":"queued","poll_after_ms":250,"eta":null}`)
	got, err := ticketIn(202, body)
	if err != nil || got.Ticket != "abc.def" || got.Status != sale.StatusQueued || got.PollAfterMS != 250 {
		t.Errorf("ticket %+v, %v", got, err)
	}
	if got, err := ticketIn(409, body); err != nil || got.Ticket != "" {
		t.Errorf("a refusal carries ticket %+v, %v", got, err)
	}
	if got, err := ticketIn(503, []byte(`{"type":"/problems/unavailable","status":503,"ticket":{"ticket":"abc.def","status":"queued"}}`)); err != nil || got.Ticket != "abc.def" {
		t.Errorf("an unknown outcome carries %+v, %v", got, err)
	}
	if got, err := ticketIn(503, []byte(`down`)); err != nil || got.Ticket != "" {
		t.Errorf("a dead gateway's answer carries %+v, %v", got, err)
	}
	if _, err := ticketIn(202, []byte(`{`)); err == nil {
		t.Error("a broken 202 is read as a ticket")
	}
}

func TestRID_IsTheTicketsFirstSixteenBytes(t *testing.T) {
	t.Parallel()
	id := uuid.Must(uuid.NewV7())
	ticket := base64.RawURLEncoding.EncodeToString(append(id[:], "\x01phone"...)) + ".mac"
	if got, err := RID(ticket); err != nil || got != id.String() {
		t.Errorf("rid %q, %v, want %s", got, err, id)
	}
	for _, bad := range []string{"", "abc.def", "!.x"} {
		if got, err := RID(bad); err == nil {
			t.Errorf("ticket %q has rid %q", bad, got)
		}
	}
}
